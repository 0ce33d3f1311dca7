from pipeproof.ir.codes import CODES, OF_TRACES
from pipeproof.semantics.rules import all_rules
from pipeproof.semantics.rules.traces import trace_rules


def test_codes_are_those_of_the_language() -> None:
    families = {family: sum(code[2] == family for code in CODES) for family in "123456789"}

    assert list(CODES) == sorted(CODES)
    assert len(set(CODES.values())) == len(CODES)
    assert families == dict(zip("123456789", (6, 5, 3, 6, 7, 5, 9, 4, 3), strict=True))


def test_a_code_never_changes_its_name() -> None:
    assert CODES["PP101"] == "missing-operation"
    assert CODES["PP302"] == "depends-on-buffering"
    assert CODES["PP507"] == "never-freed"
    assert CODES["PP709"] == "partial-norm"
    assert CODES["PP903"] == "trace-diverges"


def test_every_rule_has_its_code_and_name_here() -> None:
    assert {rule.code: rule.name for rule in all_rules()}.items() <= CODES.items()


def test_the_rules_of_traces_are_those_that_no_schedule_breaks() -> None:
    assert {rule.code for rule in trace_rules()} == OF_TRACES
    assert {rule.code for rule in all_rules()}.isdisjoint(OF_TRACES)
    assert {rule.code: rule.name for rule in trace_rules()}.items() <= CODES.items()

"""From the tree of a spec file to its schedule."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from pipeproof.errors import MalformedScheduleError, Problem, UnsupportedFeatureError
from pipeproof.frontends._profiles import require_profile
from pipeproof.frontends._spec_expect import expectations, selected
from pipeproof.frontends._spec_facts import check_facts, highest_stage, placed
from pipeproof.frontends._spec_keys import DESCRIBED, FILE, IMPORTS, SOURCES
from pipeproof.frontends._spec_nodes import Items, Node, Scalar, Table, piece_of, plain, wrong
from pipeproof.frontends._spec_schedule import generated
from pipeproof.frontends._spec_transport import transports
from pipeproof.ir.program import Piece, Programs
from pipeproof.ir.reading import LOWERINGS, Mistakes, ReadOptions, decode
from pipeproof.ir.schedule import Gradients, Plain, Reduce, Schedule
from pipeproof.ir.source import Document

__all__ = ["build"]

_REDUCE: Mapping[str, Reduce] = MappingProxyType(
    {"required": "required", "once": "once", "none": "none"}
)


def build(
    root: Node, lines: Sequence[str], options: ReadOptions, mistakes: Mistakes
) -> tuple[Document, ...]:
    """Return the documents of a tree; `lines` are those of the file.

    Raises:
        ParseError: keys or programs are wrong.
        MalformedScheduleError: keys contradict each other.
        LimitError: there are too many ranks or instructions.
        UsageError: the profile asked for does not exist.
        UnsupportedFeatureError: this version does not model what stands there.
    """
    FILE(root, mistakes)
    programs = Programs(mistakes, options)
    if isinstance(root, Table):
        _check_source(root, options, mistakes)
        _read_programs(root, lines, programs, options)
    mistakes.settle()
    if not isinstance(root, Table):
        return ()
    profile = _profile(root, options)
    if "ranks" in root.entries:
        operations = programs.operations()
        stages = options.stages or highest_stage(operations) + 1 or 1
        microbatches = options.microbatches or 1
        schedule = Schedule(operations, programs.ranks, stages, microbatches, profile=profile)
        document = Document(
            mistakes.file, schedule, programs.marks(), notes=_unlowered(mistakes.file, options)
        )
        documents: tuple[Document, ...] = (replace(document, origin=_origin(root)),)
    elif "schedule" in root.entries:
        document = generated(root, profile, options, mistakes)
        origin = MappingProxyType({**document.origin, **_origin(root)})
        documents = (replace(document, name=mistakes.file, origin=origin),)
    else:
        documents = _import(root, profile, options, mistakes)
    return tuple(_complete(root, each, options, mistakes) for each in documents)


def _unlowered(file: str, options: ReadOptions) -> tuple[Problem, ...]:
    """Return what is to be said where programs that stand in the file were to be lowered."""
    if options.lowering is None:
        return ()
    found = f"programs of a spec are not lowered by '{options.lowering}'"
    return (Problem(file, 1, 1, found, "they are judged as written"),)


def _check_source(root: Table, options: ReadOptions, mistakes: Mistakes) -> None:
    """Check that there is one source of operations, and a number of microbatches for it."""
    sources = [key for key in root.entries if key in SOURCES]
    if not sources:
        wrong(root, mistakes, "write one of ranks:, schedule:, import:", "no program stands here")
    for key in sources[1:]:
        found = f"'{key}' stands beside '{sources[0]}'"
        wrong(root.heads[key], mistakes, "write one of ranks:, schedule:, import:", found)
    stated = "microbatches" in root.entries or options.microbatches is not None
    if "import" not in sources and not stated:
        found = "the key 'microbatches' is missing"
        wrong(root, mistakes, "write the number of microbatches in one step", found)
    if options.case not in (None, 0) and "import" not in sources:
        mistakes.add(1, 1, f"case {options.case} stands nowhere", "a spec holds one, case 0")


def _read_programs(
    root: Table, lines: Sequence[str], programs: Programs, options: ReadOptions
) -> None:
    ranks = root.entries.get("ranks")
    if not isinstance(ranks, Items):
        return
    if len(ranks.nodes) > options.limit("ranks"):
        found = f"there are {len(ranks.nodes)} ranks"
        file = programs.file
        raise options.exceeded(Problem(file, ranks.line, ranks.column, found, ""), "ranks")
    for rank in ranks.nodes:
        program = rank.entries.get("program", rank) if isinstance(rank, Table) else rank
        programs.read(_pieces(program, lines), ordered=not isinstance(rank, Table))
    programs.check_choices()


def _pieces(program: Node, lines: Sequence[str]) -> Iterator[Piece]:
    match program:
        case Scalar():
            yield piece_of(program, lines)
        case Items():
            for each in program.nodes:
                if isinstance(each, Scalar):
                    yield piece_of(each, lines)
        case Table():
            return


def _profile(root: Table, options: ReadOptions) -> str:
    """Return the profile that holds, where this version models all that stands in the file."""
    imported = root.entries.get("import")
    if isinstance(imported, Table) and _word(imported, "format") not in IMPORTS:
        format_ = _word(imported, "format")
        message = f"this version does not import '{format_}'; it imports {', '.join(IMPORTS)}"
        raise UnsupportedFeatureError(message)
    default = "none" if imported is None else "torch-runtime"
    return require_profile(options.profile or _word(root, "profile") or default)


def _import(
    root: Table, profile: str, options: ReadOptions, mistakes: Mistakes
) -> tuple[Document, ...]:
    """Read the file that `import` names; its documents carry the spec's name."""
    table = root.entries["import"]
    if not isinstance(table, Table):
        return ()
    node = table.entries["path"]
    written = _word(table, "path") or ""
    base = Path(mistakes.file).parent if options.base is None else options.base
    path = base / written
    if Path(written).is_absolute():
        wrong(node, mistakes, "write a path relative to the folder of this file")
    data = _bytes(path, node, options, mistakes)
    case = _number(table, "case")
    beside = replace(
        options,
        stages=_number(root, "stages") or options.stages,
        microbatches=_number(root, "microbatches") or options.microbatches,
        profile=profile,
        case=options.case if case is None else case,
        base=path.parent,
        lowering=options.lowering or LOWERINGS.get(_word(table, "lowering") or ""),
    )
    text = decode(data, str(path))
    from pipeproof.frontends import torch_csv  # noqa: PLC0415  loaded only where it is read

    if not torch_csv.sniff(text, str(path)):  # nothing of another file is shown
        wrong(node, mistakes, "name one that torch wrote", f"{str(path)!r} is no torch CSV")
        mistakes.settle()
    documents = torch_csv.read(text, str(path), beside)
    if "lowering" in table.entries and documents[0].schedule.lowering == "as-written":
        found = "messages stand in the file, so it is not lowered"
        wrong(table.entries["lowering"], mistakes, "leave this key out", found)
        mistakes.settle()
    origin = {**_origin(root), "format": IMPORTS[0], "path": str(path)}
    return tuple(
        replace(each, name=mistakes.file, origin=MappingProxyType(origin)) for each in documents
    )


def _bytes(path: Path, node: Node, options: ReadOptions, mistakes: Mistakes) -> bytes:
    """Return what stands in a file that is to be imported, if it is one and not too large."""
    data = b""
    try:
        if not path.is_file():
            wrong(node, mistakes, "write the path of a file", f"there is no file {str(path)!r}")
        elif path.stat().st_size > options.limit("csv-bytes"):
            size = Problem(str(path), 1, 1, f"the file has {path.stat().st_size} bytes", "")
            raise options.exceeded(size, "csv-bytes")
        else:
            data = path.read_bytes()
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "its path is none"
        wrong(node, mistakes, "write the path of a file", f"{str(path)!r} cannot be read: {said}")
    mistakes.settle()
    return data


def _complete(
    root: Table, document: Document, options: ReadOptions, mistakes: Mistakes
) -> Document:
    """Return the document with all that the keys of the file say."""
    schedule = document.schedule
    transport = root.entries.get("transport")
    stated = replace(
        schedule,
        stages=_number(root, "stages") or schedule.stages,
        microbatches=_number(root, "microbatches") or schedule.microbatches,
        steps=None if _word(root, "steps") == "any" else _number(root, "steps") or 1,
        fragment=_word(root, "fragment") == "true",
        segments=_number(root, "segments") or 1,
        pipelines=_lists(root.entries.get("pipelines")),
        transports=transports(transport, schedule.profile),
        gradients=_gradients(root.entries.get("gradients")),
        described=_described(root),
    )
    check_facts(root, stated, document, options, mistakes)
    mistakes.settle(MalformedScheduleError)
    select, ignore = selected(root.entries.get("rules"))
    return replace(
        document,
        schedule=replace(stated, placement=placed(root.entries.get("placement"), stated)),
        expect=expectations(root.entries["expect"]) if "expect" in root.entries else (),
        select=select,
        ignore=ignore,
        title=_word(root, "title") or "",
    )


def _described(root: Table) -> Mapping[str, Plain]:
    described = {key: plain(root.entries[key]) for key in DESCRIBED if key in root.entries}
    ranks = root.entries.get("ranks")
    ready: dict[str, Plain] = {}
    for rank, node in enumerate(ranks.nodes if isinstance(ranks, Items) else ()):
        if isinstance(node, Table):
            said = {key: plain(each) for key, each in node.entries.items() if key != "program"}
            ready[str(rank)] = MappingProxyType(said)
    if ready:
        described["ready"] = MappingProxyType(ready)
    return MappingProxyType(described)


def _gradients(node: Node | None) -> Gradients:
    if not isinstance(node, Table):
        return Gradients()
    other = {key: plain(each) for key, each in node.entries.items() if key != "reduce"}
    reduce: Reduce = _REDUCE.get(_word(node, "reduce") or "", "default")
    return Gradients(reduce, MappingProxyType(other))


def _lists(node: Node | None) -> tuple[tuple[int, ...], ...]:
    lists = node.nodes if isinstance(node, Items) else ()
    return tuple(
        tuple(int(each.text) for each in line.nodes if isinstance(each, Scalar))
        for line in lists
        if isinstance(line, Items)
    )


def _origin(root: Table) -> Mapping[str, Plain]:
    source = _word(root, "source")
    return MappingProxyType({} if source is None else {"source": source})


def _word(table: Table, key: str) -> str | None:
    node = table.entries.get(key)
    return node.text if isinstance(node, Scalar) else None


def _number(table: Table, key: str) -> int | None:
    word = _word(table, key)
    return None if word is None else int(word)

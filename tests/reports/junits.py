"""What Jenkins' schema asks of a JUnit report, and what GitLab needs beside it."""

import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from junitparser import JUnitXml

DATA = Path(__file__).parents[1] / "data/junit/junit-10.xsd"
_XS = "{http://www.w3.org/2001/XMLSchema}"
_KNOWN = {"xs:string", "SUREFIRE_TIME"}


@cache
def _schema() -> tuple[dict[str, Element], str]:
    root = ET.fromstring(DATA.read_bytes())  # noqa: S314  our own file
    pattern = root.find(f"{_XS}simpleType/{_XS}restriction/{_XS}pattern")
    assert pattern is not None
    return {each.attrib["name"]: each for each in root.iterfind(f"{_XS}element")}, pattern.attrib[
        "value"
    ]


def checked(text: str) -> JUnitXml:
    """Return a report as its library reads it, once schema and readers take it."""
    assert text.isascii()
    root = ET.fromstring(text)  # noqa: S314  what is tested
    assert root.tag == "testsuites"
    _element(root)
    for suite in root:
        cases = suite.findall("testcase")
        counts = {
            "tests": len(cases),
            "failures": sum(case.find("failure") is not None for case in cases),
            "errors": sum(case.find("error") is not None for case in cases),
            "skipped": sum(case.find("skipped") is not None for case in cases),
        }
        assert {key: int(suite.attrib[key]) for key in counts} == counts
        assert all(len(case) <= 1 for case in cases)
    named = [(case.attrib["classname"], case.attrib["name"]) for case in root.iter("testcase")]
    assert len(set(named)) == len(named)  # GitLab knows a case by both
    totals = {key: sum(int(s.attrib[key]) for s in root) for key in ("tests", "failures", "errors")}
    assert {key: int(root.attrib[key]) for key in totals} == totals
    return JUnitXml.fromstring(text)


def _element(element: Element) -> None:
    declared, time = _schema()
    own = declared[element.tag]
    attributes = {each.attrib["name"]: each.attrib for each in own.iter(f"{_XS}attribute")}
    assert set(element.attrib) <= set(attributes)
    for name, said in attributes.items():
        assert said["type"] in _KNOWN
        assert name in element.attrib or said.get("use") != "required"
        if name in element.attrib and said["type"] == "SUREFIRE_TIME":
            assert re.fullmatch(time, element.attrib[name])
    mixed = own.find(f"{_XS}complexType[@mixed='true']") is not None or "type" in own.attrib
    between = [element.text or "", *(child.tail or "" for child in element)]
    assert mixed or not "".join(between).strip()
    inside = {each.attrib.get("ref") for each in own.iter(f"{_XS}element")}
    for child in element:
        assert child.tag in inside
        _element(child)

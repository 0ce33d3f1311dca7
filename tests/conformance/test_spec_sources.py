"""Where the operations of a spec file come from, if they do not stand in it."""

from pathlib import Path

import pytest

from pipeproof.errors import (
    InputError,
    LimitError,
    MalformedScheduleError,
    ParseError,
    UnsupportedFeatureError,
)
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document
from pipeproof.ir.transport import named
from pipeproof.schedules import generate
from tests.frontends.made import programs

OPTIONS = ReadOptions(generate=generate)


class TestImport:
    """`import` reads another file through its front-end."""

    @staticmethod
    def text(more: str = "", path: str = "run.csv") -> str:
        return f"pipeproof: 1\nimport: {{format: torch-csv, path: {path}}}\n{more}"

    def test_a_csv_is_read_beside_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "run.csv").write_text("0F0,0B0\n1F0,1B0\n")
        name = str(tmp_path / "a.yaml")

        (document,) = spec.read(self.text(), name, ReadOptions())
        assert programs(document) == [["0F0", "0B0"], ["1F0", "1B0"]]
        assert document.name == name
        assert document.places.place(1) == (1, 5)
        assert (document.schedule.profile, document.schedule.lowering) == (
            "torch-runtime",
            "torch",
        )
        assert document.origin["path"] == str(tmp_path / "run.csv")

    def test_keys_of_the_file_hold(self, tmp_path: Path) -> None:
        (tmp_path / "run.csv").write_text("0F0,0B0\n1F0,1B0\n")
        more = "stages: 4\nmicrobatches: 3\nplacement: v\ntransport: gloo\nprofile: none\n"

        (document,) = spec.read(self.text(more), "a.yaml", ReadOptions(base=tmp_path))
        found = document.schedule
        assert (found.stages, found.microbatches, found.profile) == (4, 3, "none")
        assert (found.placement, found.transports) == ((0, 1, 1, 0), named("gloo"))

    def test_mistakes_of_the_csv_stand_in_the_csv(self, tmp_path: Path) -> None:
        (tmp_path / "run.csv").write_text("0F0,0F1,0X0\n")

        with pytest.raises(ParseError, match=r"run\.csv:1:9: '0X0' is no action"):
            spec.read(self.text(), "a.yaml", ReadOptions(base=tmp_path))

    @pytest.mark.parametrize("path", ["none.csv", ".", "/dev/zero", "secret.txt"])
    def test_what_is_no_csv_is_refused_where_it_is_named(self, tmp_path: Path, path: str) -> None:
        (tmp_path / "secret.txt").write_text("secret-content:x:0\n")

        with pytest.raises(ParseError) as caught:
            spec.read(self.text(path=path), "a.yaml", ReadOptions(base=tmp_path))
        assert "secret-content" not in str(caught.value)
        assert {(each.line, each.column) for each in caught.value.problems} == {(2, 35)}

    def test_a_large_csv_exceeds_its_limit(self, tmp_path: Path) -> None:
        (tmp_path / "run.csv").write_text("0F0,0F1,0F2\n")
        options = ReadOptions(base=tmp_path, limits={"csv-bytes": 5})

        with pytest.raises(LimitError, match="limit 'csv-bytes'"):
            spec.read(self.text(), "a.yaml", options)

    def test_the_lowering_is_the_one_that_stands_there(self, tmp_path: Path) -> None:
        (tmp_path / "run.csv").write_text("0F0,0B0\n1F0,1B0\n")
        text = self.text().replace("}", ", lowering: torch-deferred}")

        (document,) = spec.read(text, "a.yaml", ReadOptions(base=tmp_path))
        assert document.schedule.lowering == "torch-deferred"
        asked = ReadOptions(base=tmp_path, lowering="just-in-time")
        assert spec.read(text, "a.yaml", asked)[0].schedule.lowering == "just-in-time"

    def test_what_holds_its_messages_is_not_lowered(self, tmp_path: Path) -> None:
        (tmp_path / "run.csv").write_text("0F0,0SEND_F0\n1RECV_F0,1F0\n")
        text = self.text().replace("}", ", lowering: torch}")

        with pytest.raises(ParseError, match=r"a\.yaml:2:54: messages stand in the file"):
            spec.read(text, "a.yaml", ReadOptions(base=tmp_path))
        (document,) = spec.read(self.text(), "a.yaml", ReadOptions(base=tmp_path, lowering="torch"))
        assert "it is judged as written" in str(document.notes[0])


class TestSchedule:
    """`schedule` names a known schedule, which the caller's generator makes."""

    @staticmethod
    def read(said: str, more: str = "", options: ReadOptions = OPTIONS) -> Document:
        text = f"pipeproof: 1\nmicrobatches: 4\nschedule: {said}\n{more}"
        return spec.read(text, "a.yaml", options)[0]

    def wrong(self, said: str, more: str = "", kind: type[InputError] = ParseError) -> str:
        with pytest.raises(kind) as caught:
            self.read(said, more)
        assert type(caught.value) is kind
        return str(caught.value).removeprefix("a.yaml:")

    def test_a_name_and_a_number_of_stages_will_do(self) -> None:
        document = self.read("1f1b", "stages: 2\n")
        found = document.schedule

        assert (found.ranks, found.stages, found.microbatches) == (2, 2, 4)
        assert (found.placement, found.profile, found.lowering) == ((0, 1), "none", "torch")
        assert found.transports == named("strict")
        assert programs(document)[1] == ["1F0", "1B0", "1F1", "1B1", "1F2", "1B2", "1F3", "1B3"]
        assert document.places.place(5) == (3, 11)

    def test_all_is_said_in_a_mapping(self) -> None:
        said = "{name: interleaved_1f1b, ranks: 2, stages_per_rank: 2, lowering: just-in-time}"
        found = self.read(said, "profile: torch-runtime\ntransport: gloo\n").schedule

        assert (found.ranks, found.stages) == (2, 4)
        assert (found.profile, found.lowering) == ("torch-runtime", "just-in-time")
        assert found.transports == named("gloo")

    def test_options_of_the_schedule_stand_beside(self) -> None:
        document = self.read("{name: gpipe, ranks: 2, backward: descending}")

        assert programs(document)[0][-1] == "0B0"
        assert document.origin["schedule"] == {
            "name": "gpipe",
            "ranks": "2",
            "backward": "descending",
        }

    @pytest.mark.parametrize(
        ("said", "stages"),
        [
            ("{name: looped_bfs, ranks: 2}", 4),
            ("{name: looped_bfs, stages_per_rank: 2}", 4),
            ("{name: zbv, ranks: 2}", 4),
        ],
    )
    def test_ranks_and_stages_follow_from_each_other(self, said: str, stages: int) -> None:
        found = self.read(said, f"stages: {stages}\n").schedule

        assert (found.ranks, found.stages) == (2, 4)

    def test_keys_of_the_file_hold(self) -> None:
        more = "placement: [1, 0]\nsteps: any\ngradients: {reduce: required}\n"
        found = self.read("{name: 1f1b, ranks: 2}", more).schedule

        assert (found.placement, found.steps) == ((1, 0), None)
        assert found.gradients.reduce == "required"

    def test_the_caller_may_lower_it_otherwise(self) -> None:
        options = ReadOptions(generate=generate, lowering="torch-deferred", stages=2)

        assert self.read("1f1b", options=options).schedule.lowering == "torch-deferred"
        assert self.read("1f1b", options=options).schedule.ranks == 2

    @pytest.mark.parametrize(
        ("said", "more", "expected"),
        [
            ("1f1b", "", "3:11: the number of ranks is not said"),
            ("{ranks: 2}", "", "3:11: the key 'name' is missing"),
            ("[1f1b]", "", "3:11: a list stands here; write a name, or a mapping"),
            ("{name: 1f1b, ranks: 0}", "", "3:31: '0' stands here"),
            ("{name: 1f1b, ranks: 2, lowering: torhc}", "", "did you mean 'torch'?"),
            ("{name: gpipe, ranks: 2, backward: [up]}", "", "3:45: a list stands here"),
        ],
    )
    def test_what_is_written_wrongly_is_said(self, said: str, more: str, expected: str) -> None:
        assert expected in self.wrong(said, more)

    @pytest.mark.parametrize(
        ("said", "more", "expected"),
        [
            ("1f1c", "stages: 2", "3:11: '1f1c' is no known schedule"),
            ("{name: zbv, ranks: 2, stages_per_rank: 3}", "", "3:11: 3 stages a rank; zbv takes"),
            ("{name: gpipe, ranks: 2, order: up}", "", "3:42: 'order' is no option of gpipe"),
            ("{name: gpipe, ranks: 2, backward: up}", "", "3:45: 'up' is no value of 'backward'"),
            ("{name: 1f1b, ranks: 2}", "stages: 3", "4:9: 3 stages are said, and 2 stand in 1f1b"),
            ("{name: dualpipev, ranks: 4}", "", "3:11: 4 microbatches on 4 ranks"),
        ],
    )
    def test_what_cannot_be_had_is_said(self, said: str, more: str, expected: str) -> None:
        assert self.wrong(said, more, MalformedScheduleError).startswith(expected)

    def test_it_is_limited(self) -> None:
        assert "limit 'ranks'" in self.wrong("{name: 1f1b, ranks: 2000}", kind=LimitError)

    @pytest.mark.parametrize("more", ["steps: 2\n", "segments: 2\n"])
    def test_more_than_one_step_of_whole_microbatches_is_not_generated(self, more: str) -> None:
        with pytest.raises(UnsupportedFeatureError, match="is generated for"):
            self.read("{name: 1f1b, ranks: 2}", more)

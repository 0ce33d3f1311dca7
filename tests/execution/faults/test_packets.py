from types import MappingProxyType

import torch

from pipeproof.execution.faults.packets import Data, Packet, packed, unpacked
from tests.execution.faults.ran import setting


def test_a_packet_comes_out_as_it_went_in() -> None:
    sent = Packet("data", 1, 0, 3, Data(7, "digest", torch.arange(3.0)))
    came = unpacked(packed(sent))

    assert isinstance(came, Packet)
    assert isinstance(came.body, Data)
    assert came[:4] == sent[:4]
    assert torch.equal(came.body.numbers, torch.arange(3.0))


def test_a_schedule_travels_with_its_read_only_mappings() -> None:
    own = setting()
    came = unpacked(packed(own.run))

    assert type(came) is type(own.run)
    assert unpacked(packed(MappingProxyType({"a": (1, 2)}))) == {"a": (1, 2)}

"""Is the whole network quiet? Asked by any node, answered by all, without anybody in charge.

A node is quiet when all that it has said is acknowledged, and an acknowledgement comes only after what was heard has
been worked in. So if all nodes are quiet at one moment, nothing will ever happen again. Nobody can ask all at one
moment; but when two rounds of answers both say quiet, and nobody's count of activity has moved between them, then all
were quiet at every moment between the end of the first round and the beginning of the second.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from tidelog.network.messages import Ask, Tell

Question = tuple[str, Ask]


class Survey:
    """The rounds of questions of one node. `number` must never go back, or old answers would count."""

    def __init__(self) -> None:
        self.number = 0
        self._answers: dict[str, Tell | None] = {}
        self._before: dict[str, Tell | None] = {}

    def begin(self, peers: Iterable[str], own: str, tell: Tell) -> list[Question]:
        """A new round, to be compared with the last one; `tell` is the answer of the node itself."""
        self._before = self._answers if self.complete else {}
        self.number += 1
        self._answers = {**dict.fromkeys(peers), own: tell}
        return self.unanswered()

    def unanswered(self) -> list[Question]:
        """The questions to which no answer has come."""
        return [(name, Ask(self.number)) for name, answer in self._answers.items() if answer is None]

    def answer(self, sender: str, tell: Tell, most: int) -> list[Question]:
        """Note an answer; nodes that only the other one knows are asked as well, while there are at most `most`."""
        if tell.number != self.number or sender not in self._answers:
            return []
        self._answers[sender] = tell
        room = max(0, most - len(self._answers))
        new = dict.fromkeys(islice((name for name in tell.peers if name not in self._answers), room))
        self._answers.update(new)
        return [(name, Ask(self.number)) for name in new]

    @property
    def complete(self) -> bool:
        """Whether every node has answered."""
        return None not in self._answers.values()

    @property
    def quiet(self) -> bool:
        """What the last two rounds say."""
        if not self._answers or not self.complete or self._answers.keys() != self._before.keys():
            return False
        pairs = [(self._before[name], answer) for name, answer in self._answers.items()]
        return all(a and b and a.quiet and b.quiet and a.activity == b.activity for a, b in pairs)

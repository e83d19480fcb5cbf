"""Is the whole network quiet? Any node can ask, all answer, and nobody is in charge.

A node is quiet when all its messages are acknowledged, and a node acknowledges only after it has applied the message.
So if all nodes are quiet at one moment, nothing will ever happen again. Nobody can ask all at one moment. But if two
rounds of answers both say quiet, and no node's count of activity has moved between them, then all were quiet at every
moment between the end of the first round and the beginning of the second.
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
        """Begin a new round, to be compared with the last one; `tell` is the answer of the node itself."""
        self._before = self._answers if self.complete else {}
        self.number += 1
        self._answers = {**dict.fromkeys(peers), own: tell}
        return self.unanswered()

    def unanswered(self) -> list[Question]:
        """Return the questions without an answer."""
        return [(name, Ask(self.number)) for name, answer in self._answers.items() if answer is None]

    def answer(self, sender: str, tell: Tell, most: int) -> list[Question]:
        """Note an answer; also ask nodes that only the other one knows, while there are at most `most`."""
        if tell.number != self.number or sender not in self._answers:
            return []
        self._answers[sender] = tell
        room = max(0, most - len(self._answers))
        new = dict.fromkeys(islice((name for name in tell.peers if name not in self._answers), room))
        self._answers.update(new)
        return [(name, Ask(self.number)) for name in new]

    @property
    def complete(self) -> bool:
        """Return True if every node has answered."""
        return None not in self._answers.values()

    @property
    def quiet(self) -> bool:
        """Return True if the last two rounds show a quiet network."""
        if not self._answers or not self.complete or self._answers.keys() != self._before.keys():
            return False
        pairs = [(self._before[name], answer) for name, answer in self._answers.items()]
        return all(a and b and a.quiet and b.quiet and a.activity == b.activity for a, b in pairs)

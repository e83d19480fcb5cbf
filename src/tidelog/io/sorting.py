"""The order in which views are written, see `storage.ordering`. The same facts give the same file, whatever happened
before."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.common.arrays import Words
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import Column, Value
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.ordering import order_of_words


def sorted_words(words: Words, columns: Sequence[Column], dictionary: Dictionary) -> Words:
    """Return the rows of `words`, sorted."""
    return words[order_of_words(words, [column.kind for column in columns], dictionary)]


def sorted_rows(relation: Relation) -> list[tuple[Value, ...]]:
    """Return the tuples of a relation, sorted."""
    columns, dictionary = relation.columns, relation.dictionary
    words = sorted_words(relation.words(), columns, dictionary)
    return list(Relation(relation.name, WordRows(columns, dictionary, words)))

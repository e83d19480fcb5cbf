"""Program text to checked program.

reading       `read`: files and texts; with the C preprocessor (preprocessor, stretches) when a line starts with #;
              consulted  the files that it looks at
lexer         text to tokens, with soft_words and own_aggregates;  grammar.lark  the grammar of one statement
statements    tokens to statements, and recovery;  mistakes  problems of the syntax in words;  foreign  those of other
              languages
builder       reductions of the grammar to statements, with bodies, clauses and terms;  literals  numbers and strings;
              qualifiers  those that contradict each other;  nesting  bounded depth
syntax        the tree;  printer  the tree as source;  precedence  how strongly operators bind;  readable  texts that
              read back as the same tree;  placed  the text of a store, with the places of its statements
check         `check`, and `Checker` for programs that change: declarations, directives, names, kinds (with functors,
              scopes, kind_slots; rule_kinds  a rule with its kinds), paths, subtypes, grounding (with bindings),
              patterns;  equivalences  rules that `eqrel` brings;  inlining  `inline`;  selections  which tuples a
              relation shows;  witnesses  of min and max, and unnamed  values of aggregates;  alternatives  of
              disjunctions, and those with other types;  counters  numbers of substitutions;  casting  `as` between
              kinds;  once  each problem once
branched      types with branches as they are declared;  branches  their values
lints         `warnings`: constructs that are allowed but probably mistakes
"""

from tidelog.language.check import Checker, check
from tidelog.language.lints import warnings
from tidelog.language.reading import read

__all__ = ["Checker", "check", "read", "warnings"]

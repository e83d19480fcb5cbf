"""Program text to checked program.

reading       `read`: files and texts; with the C preprocessor (preprocessor, stretches) when a line starts with #;
              consulted  the files that it looks at
lexer         text to tokens;  token_types  their types, and words that depend on their neighbours;  grammar.lark  the
              grammar of one statement
statements    tokens to statements, and recovery;  mistakes  problems of the syntax in words;  foreign  those of other
              languages;  annotations  comments and annotations of statements;  blocks  statements to a program
builder       reductions of the grammar to statements, with bodies and terms;  sizes  how deep and how large they may be
syntax        the tree;  trees  walking and rebuilding it;  printer  the tree as source;  stored_text  texts that read
              back as the same tree, with the places of their statements
check         `check`, and `Checker` for programs that change: components, declarations, directives, names, kinds (with
              rule_kinds), paths, subtypes, grounding;  functors and aggregates  the built-in ones;  regex  patterns;
              plain_statements  the quick way;  aggregate_variables, retyping and inlining  rules in another form;
              selections  which tuples a relation shows;  counters  numbers of substitutions;  problems  each once
drafts        the same for texts while somebody types them;  restating  texts that are loaded again
branches      types with branches, and their values
lints         `warnings`: constructs that are allowed but probably mistakes
"""

from tidelog.language.check import Checker, check
from tidelog.language.lints import warnings
from tidelog.language.reading import read

__all__ = ["Checker", "check", "read", "warnings"]

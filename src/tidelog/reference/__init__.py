"""Slow and obvious evaluators in plain Python over sets. They define the meaning of programs, and are the oracle of the
tests.

    selections     relations that select, by definition
    paths          regular paths as operations on relations
    substitutions  the substitutions that satisfy a body of the checked program
    naive          checked program + facts -> the least model, with the numbers of counters
    seminaive      core program + facts -> the least model with the birth and count of each tuple

`naive` reads syntax trees and knows nothing of the rewrites in `rules/`, so that it can judge them; `seminaive` reads
the result of the rewrites. Neither shares code with the engine, and the engine imports nothing from here.
"""

"""The defaults of questions to explanations. The verbs that ask them need no other module of this room until then."""

EXPLANATION = "the explanation"
"""How errors of limits name the work."""
MOST_MEMBERS = 3
"""Members of a group that are shown."""
DEPTH = 3
"""How many missing tuples below one another `why_not` explains."""

"""Explanations: why a tuple holds.

    instances     the instances of a rule that derive given tuples
    walks         shortest walks along paths and closures
    views         what they ask of an engine
    derivations   instances and walks, over the views of an engine
    search        a proof of least height, or one that births found
    proof         the proof that a user gets
    explainer     from a relation and a tuple to a proof

An explanation is read off the views and births that an engine keeps anyway; nothing is kept for it. See
docs/how-to/explanations.md.
"""

"""Explanations: why a tuple holds.

    walks         shortest walks along paths and closures
    views         what explanations ask of an engine
    instances     the instances of a rule that derive given tuples, and the members of a group, over these views
    derivations   all derivations of tuples, and those that are kept until the next epoch
    search        a proof of least height, or one that births found
    alternatives  all proofs, the smallest sets of facts that a tuple cannot do without, and those that would derive it
    absence       how far rules get that do not derive a tuple; the tuples that a selection or a choice prefers
    steps         the steps of a proof, their conditions, and how tuples and rules are shown
    checking      the check of a proof, step by step
    proof         the proof that a user gets, as a tree, a picture, a page, or a text for another checker
    blame         since which epoch a tuple holds
    questions     the defaults of what is asked, and several answers one after the other, until a limit ends them
    documents     explanations as JSON, and back, for servers and their clients
    explainer     from a relation and a tuple to a proof

An explanation is read off the views and births that an engine keeps anyway; only `blame` needs more. See
docs/how-to/explanations.md.
"""

"""Explanations: why a tuple holds.

    witnesses     the members that give a minimum or a maximum its value
    instances     the instances of a rule that derive given tuples
    groups        the members of an aggregate's group
    batches       derivations, and the instances of a rule in arrays;  known  those that are kept until the next epoch
    walks         shortest walks along paths and closures
    views         what they ask of an engine
    derivations   all of them, over the views of an engine
    search        a proof of least height, or one that births found
    needed        what all known derivations of a tuple need
    alternatives  all proofs, and the smallest sets of facts that a tuple cannot do without
    absence       how far rules get that do not derive a tuple
    repair        the smallest sets of facts that would make it hold
    rivals        the tuples that a selection or a choice prefers, or passes over
    steps         the steps of a proof, and their conditions:  conditions;  wording  how tuples and rules are shown
    proof         the proof that a user gets:  drawing  as a picture or page,  lean  for another checker
    composing     from the derivations that a search has found to these steps
    checking      its check, step by step;  stretches  walks by the rules of a closure
    blame         since which epoch a tuple holds
    enumeration   several proofs or sets, one after the other, until a limit ends them
    documents     explanations as JSON, and back, for servers and their clients
    explainer     from a relation and a tuple to a proof:  questions  the defaults of what it is asked

An explanation is read off the views and births that an engine keeps anyway; only `blame` needs more. See
docs/how-to/explanations.md.
"""

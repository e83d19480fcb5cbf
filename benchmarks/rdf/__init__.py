"""RDF: OWL 2 RL on data like LUBM's, beside the reasoners `reasonable` and `owlrl`; see `__main__`."""

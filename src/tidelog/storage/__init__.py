"""Storage: relations of words, and what words mean.

dictionary  values to words and back;  symbol_list, record_table, record_text, arrow_arrays  its parts
usage       which words are in use;  looking  how work on many rows can be stopped
stored      a relation: its rows and a set over them;  index  its rows by some columns;  marks  counts, births, supports
changes     the changes of a relation in place, within an epoch;  journal  what died and was born, and the way back
closure     a relation that is a transitive closure, of which no pair is written before somebody reads it
catalog     the table through which kernels find them;  memory  blocks that grow where they stand
"""

"""Storage: relations of words, and the meaning of words.

dictionary  values to words and back;  symbol_list, record_table, record_types, record_text, arrow_arrays  its parts
bulk_symbols  many symbols;  text_table  their texts;  distant_symbols  symbols whose texts are in files
column_names  columns, and fields of records, by the names that a program declares
number_words  words of numbers;  ordinal_table  the numbers that `ord` gives to symbols and records
ordering    the order of tuples, whatever their words are
usage       the words in use;  looking  work on many rows in parts that limits can stop
positions   of rows among others
stored      a relation: its rows and a set over them;  index  its rows by some columns;  marks  counts, births, supports
changes     the changes of a relation in place, within an epoch;  journal  deaths and births, and how to undo them
waiting     rows that are inserted together, in the order of the slots, because these lie in files
extents     the rows as of the last epoch, and deaths since;  frozen  such rows for readers in other threads
readers     what epochs report to these
closure     the transitive closure of edges;  closed_relation  its pairs, written only when a caller reads them
changed_pairs  the pairs that a change of it removes and adds
folding     folds over its pairs, by components;  members  the groups of an aggregate that are such pairs
catalog     the table in which kernels find them;  memory  blocks that grow in place
room        the memory that arrays may take;  spilling  files for those that do not fit
"""

"""Storage: relations of words, and what words mean.

dictionary  values to words and back;  record_table, record_text, arrow_arrays  its parts
stored      a relation: rows, counts, births;  index  its rows by some columns
catalog     the table through which kernels find them;  memory  blocks that grow where they stand
"""

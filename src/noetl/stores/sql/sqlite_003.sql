-- What an iteration gave, where that is little: the list of a long loop is then made without reading its log again.

ALTER TABLE iteration_done ADD COLUMN data BLOB;

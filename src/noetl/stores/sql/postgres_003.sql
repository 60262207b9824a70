-- Each job of a local loop is handed out under a number of its own; what is held is the loop.
ALTER TABLE holding DROP COLUMN lease;

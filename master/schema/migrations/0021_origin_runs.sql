-- Of a trial of the common past of a branch: the last run of its origin that is of that past; NULL: as far as is known, all are. What the origin does
-- afterwards is not shown as the past. The API writes it when it creates the branch, and the claim of the trial's first own attempt resets it.
ALTER TABLE trials ADD COLUMN origin_run int;

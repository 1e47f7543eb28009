-- Parts of files that reach their storage late. Google's and Azure's storage accepts parts at signed addresses also after the end of an upload, so the
-- rows of such uploads stay until the addresses have expired, and the parts are removed once more.
ALTER TABLE logged_uploads
    ADD COLUMN late    boolean NOT NULL DEFAULT false, -- its storage accepts late parts
    ADD COLUMN aborted boolean NOT NULL DEFAULT false; -- its program or its owner ended it; only the removal of late parts is left

ALTER TABLE abandoned_uploads ADD COLUMN late boolean NOT NULL DEFAULT false; -- as in logged_uploads

-- The user of the old cluster who asked its master in a pass that saw only a part of it. Another one sees another part.
ALTER TABLE imports ADD COLUMN asked_as text NOT NULL DEFAULT '';

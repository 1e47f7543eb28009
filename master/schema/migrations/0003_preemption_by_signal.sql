-- Programs that know only signals: the runner preempts a program by a signal if its configuration says so, or if it has
-- never asked the preemption API.
ALTER TABLE allocations
    ADD COLUMN preempt_asked_at timestamptz, -- the API: when its program first asked whether it is preempted
    ADD COLUMN preempt_signalled_at timestamptz; -- the API: when it was decided that a signal preempts its programs, because none had asked
ALTER TABLE members
    -- The runner, by the API: how the program ended after the signal that preempted it. 'exited': within its grace;
    -- 'killed': after it; '': there was no signal, or the end of the program had nothing to do with it.
    ADD COLUMN preempted text NOT NULL DEFAULT '' CHECK (preempted IN ('', 'exited', 'killed'));
ALTER TABLE checkpoints
    -- The API, at the report, if a task's own token reports it: the files of a folder that the runner keeps (resume.path), which
    -- the runner alone restores. No program is offered it as a checkpoint.
    ADD COLUMN kept boolean NOT NULL DEFAULT false;
CREATE INDEX checkpoints_kept ON checkpoints (trial_id, run_id DESC) WHERE kept;
-- The loop reads these without the rest of the configuration, which may be large.
ALTER TABLE experiments
    ADD COLUMN preemption jsonb GENERATED ALWAYS AS (config -> 'preemption') STORED,
    ADD COLUMN resume jsonb GENERATED ALWAYS AS (config -> 'resume') STORED;
-- The runners of these attempts send no signal, and nobody knows which of their programs have asked: all keep their preemption_timeout.
UPDATE allocations SET preempt_asked_at = now() WHERE state <> 'TERMINATED';

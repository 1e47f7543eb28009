-- Events for webhooks, one row for each event, until the leader's sender copies them to the webhooks that receive them: what fires an
-- event must not do work for each webhook.
CREATE TABLE webhook_outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id int REFERENCES webhooks ON DELETE CASCADE, -- the only receiver; NULL: whichever receives events of the workspace
    workspace_id int NOT NULL,
    experiment_id int, -- whose configuration may name or exclude webhooks; no reference: what it is about may be deleted first
    event_id uuid NOT NULL DEFAULT gen_random_uuid(),
    event jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhook_outbox_workspace ON webhook_outbox (workspace_id, id);
CREATE INDEX webhook_outbox_webhook ON webhook_outbox (webhook_id);
-- How many deliveries wait for a webhook.
ALTER TABLE webhooks ADD COLUMN waiting int NOT NULL DEFAULT 0;
UPDATE webhooks w SET waiting = (SELECT count(*) FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.state = 'WAITING');

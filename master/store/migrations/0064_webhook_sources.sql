-- Whose experiment a delivery is about; NULL: unknown. While a webhook has many waiting events, each owner may have a part of its places.
ALTER TABLE webhook_deliveries ADD COLUMN owner_id int;

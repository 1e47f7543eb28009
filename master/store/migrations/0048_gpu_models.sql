-- The model of the GPUs that a member was given; '' if its slots are cores. Written by the loop at the placement.
ALTER TABLE members ADD COLUMN model text NOT NULL DEFAULT '';

-- The slots of an attempt by the model of their GPUs, such as {"NVIDIA A100": 8}; {} if they are cores, or if an
-- earlier release placed the attempt. The loop writes it with the row.
ALTER TABLE usage ADD COLUMN models jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(models) = 'object');

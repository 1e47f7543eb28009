-- What ran on a node: its page lists it, for nodes with tens of thousands of past attempts.
CREATE INDEX members_node ON members (node_id);

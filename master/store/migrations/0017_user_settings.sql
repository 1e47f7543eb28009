-- What people's pages and programs keep for them. The API's.
CREATE TABLE user_settings (
    user_id      int NOT NULL REFERENCES users ON DELETE CASCADE,
    storage_path text NOT NULL,
    key          text NOT NULL,
    value        text NOT NULL,
    PRIMARY KEY (user_id, storage_path, key)
);

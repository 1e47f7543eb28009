package tasks

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
)

// ShellKeys are the SSH keys of one shell: a key pair for the user who logs in, and the key
// pair of its SSH server (host key).
type ShellKeys struct {
	TaskID         string `db:"task_id"`
	PrivateKey     string `db:"private_key"`
	PublicKey      string `db:"public_key"`
	HostPrivateKey string `db:"host_private_key"`
	HostPublicKey  string `db:"host_public_key"`
	AgentUser      string `db:"agent_user"` // the account of its owner's tasks on nodes, as JSON; only read
}

func insertShellKeys(ctx context.Context, db *database.DB, task string, k ShellKeys) error {
	return db.Exec(ctx, `
		INSERT INTO shell_keys (task_id, private_key, public_key, host_private_key, host_public_key)
		VALUES (@task, @private, @public, @hostPrivate, @hostPublic)`,
		database.Args{"task": task, "private": k.PrivateKey, "public": k.PublicKey, "hostPrivate": k.HostPrivateKey, "hostPublic": k.HostPublicKey})
}

// ShellKeysOf reads the keys of shells, by task. The result omits unknown tasks.
func ShellKeysOf(ctx context.Context, db *database.DB, tasks []string) (map[string]ShellKeys, error) {
	list, err := database.Rows[ShellKeys](ctx, db, `
		SELECT s.task_id, s.private_key, s.public_key, s.host_private_key, s.host_public_key, coalesce(u.agent_user::text, '') AS agent_user
		FROM shell_keys s JOIN tasks k ON k.id = s.task_id JOIN users u ON u.id = k.owner_id WHERE s.task_id = ANY($1)`, tasks)
	return each.Keyed(list, func(k ShellKeys) string { return k.TaskID }), err
}

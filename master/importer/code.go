package importer

import (
	"context"
	"io"

	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/database"
)

// copyCode copies the model definitions, each once. A definition is found by the SHA-256 of its archive; the code of our own experiments has the hash of
// its content, so the two never meet. The hour after which a master removes code without an experiment begins anew for what is there already.
func (p *pass) copyCode(ctx context.Context) error {
	list, err := database.Rows[struct {
		ID    int    `db:"id"`
		Owner int    `db:"owner_id"`
		Hash  []byte `db:"hash"`
		Size  int64  `db:"size"`
	}](ctx, p.source.DB, `SELECT DISTINCT ON (hash) id, owner_id, hash, size FROM (
			SELECT id, owner_id, sha256(model_definition) AS hash, octet_length(model_definition) AS size FROM experiments WHERE octet_length(model_definition) > 0) x ORDER BY hash, id`)
	if err != nil {
		return err
	}
	p.show.begin("code", int64(len(list)))
	for _, c := range list {
		code, err := database.Scalar[[]byte](ctx, p.source.DB, `SELECT model_definition FROM experiments WHERE id = $1`, c.ID)
		if err != nil {
			return err
		}
		err = contexts.Save(ctx, p.db, 1, c.Hash, func(w io.Writer) error {
			_, err := w.Write(code)
			return err
		})
		if err != nil {
			return err
		}
		p.show.add(1)
	}
	p.show.end()
	return nil
}

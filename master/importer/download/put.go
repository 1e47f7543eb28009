package download

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A row has values by the names of columns.
type row map[string]any

// in runs fn in a transaction that sees the copied tables.
func (d *copying) in(ctx context.Context, fn func(tx *database.DB) error) error {
	return d.db.Alone(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `SET LOCAL search_path = `+Schema); err != nil {
			return err
		}
		return fn(tx)
	})
}

// soon is in for a transaction that soon ends, and that may be repeated.
func (d *copying) soon(ctx context.Context, fn func(tx *database.DB) error) error {
	return d.db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `SET LOCAL search_path = `+Schema); err != nil {
			return err
		}
		return fn(tx)
	})
}

// put inserts rows; one that is there already, or that comes twice because a list has moved between two pages, stays as it is.
func put(ctx context.Context, tx *database.DB, table string, columns string, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return fault.New(fault.Invalid, "table %s: the old master's records cannot be stored: %w", table, err)
	}
	err = tx.Exec(ctx, `INSERT INTO `+table+` (`+columns+`) SELECT `+columns+` FROM jsonb_populate_recordset(NULL::`+table+`, $1::jsonb) ON CONFLICT DO NOTHING`, storable(text))
	if fault.Is(err, fault.Unavailable) {
		return err
	}
	if err != nil {
		return fault.New(fault.Invalid, "table %s: the database does not take the old master's records: %w", table, err)
	}
	return nil
}

// storable replaces the only character of JSON that PostgreSQL does not store.
func storable(text []byte) string {
	s := string(text)
	if !strings.Contains(s, `\u0000`) {
		return database.Text(s)
	}
	// A backslash before it makes it six harmless characters.
	s = strings.ReplaceAll(s, `\\`, "\x00")
	s = strings.ReplaceAll(s, `\u0000`, `\ufffd`)
	return database.Text(strings.ReplaceAll(s, "\x00", `\\`))
}

// object is a JSON object for a column; nil for none.
func object(s v1.Struct) any {
	if len(s) == 0 || string(s) == "null" {
		return nil
	}
	return json.RawMessage(s)
}

// short is a value of an enumeration as Determined's database has it: without the prefix of the API.
func short[T ~string](value T, prefix string) string {
	return strings.TrimPrefix(string(value), prefix)
}

// masked is what the API shows in place of a secret.
func masked(text string) bool { return len(text) > 2 && strings.Trim(text, "*") == "" }

// unmasked removes the places of secrets from a value, and reports whether there was any.
func unmasked(v any) (gone bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if text, ok := inner.(string); ok && masked(text) {
				delete(v, key)
				gone = true
			} else if unmasked(inner) {
				gone = true
			}
		}
	case []any:
		for _, inner := range v {
			gone = unmasked(inner) || gone
		}
	}
	return gone
}

// withoutSecrets is a configuration without the places of secrets in the sections that have secrets.
func withoutSecrets(config v1.Struct, sections ...string) (out any, gone bool) {
	var fields map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(config)))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return object(config), false
	}
	if len(sections) == 0 {
		return fields, unmasked(fields)
	}
	for _, s := range sections {
		gone = unmasked(fields[s]) || gone
	}
	return fields, gone
}

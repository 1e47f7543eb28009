package database

import (
	"context"
	"maps"
	"slices"
)

// Names and values in JSON documents. A sum of all documents in PostgreSQL would need room for all names of all documents, which
// programs choose, so the master reads the newest documents, a few at a time, and keeps the texts that it returns.
const (
	maxDocumentRead    = 16 << 20  // bytes that a query over documents returns
	maxStoredAtOnce    = 256 << 10 // bytes of documents, as PostgreSQL stores them, that one query reads; compression makes them at most a hundred times smaller
	maxDocumentsAtOnce = 500       // that one query reads
	MaxFirstTexts      = 1000      // that FirstTexts keeps
)

// EachDocument reads documents, the newest first and a few at a time, until it has read maxDocumentRead bytes. ids is
// a query of the ids and the sizes of the documents, as PostgreSQL stores them. sql is a query of one column over the
// documents with the ids @ids; EachDocument calls do with each of its values.
func EachDocument(ctx context.Context, db *DB, ids string, of []any, sql string, args Args, do func(raw []byte) error) error {
	ctx, cancel := db.Bounded(UnlimitedReads(ctx))
	defer cancel()
	type stored struct {
		ID   int `db:"id"`
		Size int `db:"size"`
	}
	list, err := Rows[stored](ctx, db, ids+` ORDER BY 1 DESC`, of...)
	left := maxDocumentRead
	for err == nil && len(list) > 0 && left > 0 {
		var some []int
		for size := 0; len(list) > 0 && len(some) < maxDocumentsAtOnce && (size == 0 || size+list[0].Size <= maxStoredAtOnce); list = list[1:] {
			size += list[0].Size
			some = append(some, list[0].ID)
		}
		all := Args{"ids": some}
		maps.Copy(all, args)
		var raw RawBytes
		err = db.Each(ctx, sql, []any{all}, []any{&raw}, func() error {
			left -= len(raw)
			return do(raw)
		})
	}
	return err
}

// FirstTexts keeps the first MaxFirstTexts texts in their order, with a value for each, and not more of them than a page has bytes.
type FirstTexts[V any] struct {
	Kept map[string]V
	size int
	last string // the texts after it are not kept; "" if all are
}

// Add adds a text, if there is none that equals it.
func (f *FirstTexts[V]) Add(text string, v V) {
	if f.Kept == nil {
		f.Kept = map[string]V{}
	}
	if _, ok := f.Kept[text]; ok || f.last != "" && text > f.last {
		return
	}
	f.Kept[text] = v
	if f.size += len(text); len(f.Kept) > 2*MaxFirstTexts || f.size > 2*MaxPageBytes {
		f.cut()
	}
}

func (f *FirstTexts[V]) cut() {
	f.size = 0
	for i, text := range slices.Sorted(maps.Keys(f.Kept)) {
		if i > 0 && (i >= MaxFirstTexts || f.size+len(text) > MaxPageBytes) {
			delete(f.Kept, text)
			continue
		}
		f.size, f.last = f.size+len(text), text
	}
}

// Sorted returns the texts.
func (f *FirstTexts[V]) Sorted() []string {
	if len(f.Kept) > MaxFirstTexts || f.size > MaxPageBytes {
		f.cut()
	}
	return slices.Sorted(maps.Keys(f.Kept))
}

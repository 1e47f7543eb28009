package download

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	page     = 100 // records of a page
	maxReads = 3   // of one list that changes meanwhile
)

// ascending asks for the order by a key that no two records share, so that the order is the same on each page.
func ascending(key string) v1.Order { return v1.Order{SortBy: key, OrderBy: "ORDER_BY_ASC"} }

// lists are those of the old master; most is how many records one may have.
type lists struct {
	c    *client.Client
	most int
	note func(text string)
}

// A fetch asks for one page of a list. total is how many records the whole list has; 0: the old master does not tell.
type fetch[T any] func(limit, offset int) (items []T, total int, err error)

// A paged response has one page of a list.
type paged[T any] interface {
	Records() ([]T, v1.Pagination)
}

// list returns the records of an endpoint, each once by its key. ask makes the request for a page.
func list[Req any, Resp paged[T], T any, K comparable](ctx context.Context, l lists, e v1.Endpoint[Req, Resp], ask func(v1.Window) Req, key func(T) K, params ...any) ([]T, error) {
	return whole(l, v1.Line(e).Path, pagesOf[Req, Resp, T](ctx, l, e, ask, params...), func(item T) (K, T) { return key(item), item })
}

// pagesOf fetches the pages of an endpoint.
func pagesOf[Req any, Resp paged[T], T any](ctx context.Context, l lists, e v1.Endpoint[Req, Resp], ask func(v1.Window) Req, params ...any) fetch[T] {
	return func(limit, offset int) ([]T, int, error) {
		got, err := client.Send(ctx, l.c, e, ask(v1.Window{Limit: limit, Offset: offset}), params...)
		items, at := (*got).Records()
		return items, at.Total, err
	}
}

// whole reads a list and returns what keep keeps of each record, each key once. Where the old cluster changes meanwhile, records move from one page to another: then it
// reads the list again, and at last notes that records may be missing.
func whole[T any, K comparable, V any](l lists, what string, from fetch[T], keep func(T) (K, V)) ([]V, error) {
	for try := 1; ; try++ {
		kept, changed, err := through(l, what, from, keep)
		switch {
		case err != nil && (changed == "" || try == maxReads):
			return nil, err
		case changed == "":
			return kept, nil
		case try == maxReads:
			l.note(fmt.Sprintf("%s: records may be missing, because the old cluster changed the list each of the %d times that it was read (%s): "+
				"import again when fewer people work there", what, maxReads, changed))
			return kept, nil
		}
	}
}

// through reads a list once. Each page begins with the last record of the one before: another record in its place shows that records before it are gone, so others may
// have moved to a page that was read already. changed says what shows that. It ends with a page that is not full, so a master that counts wrongly cannot keep it.
func through[T any, K comparable, V any](l lists, what string, from fetch[T], keep func(T) (K, V)) (kept []V, changed string, err error) {
	places := map[K]int{}
	limit, total, sent := page, 0, 0
	var last K
	for offset := 0; ; {
		items, told, err := from(limit, offset)
		if fault.Is(err, fault.TooLarge) && limit > 1 {
			limit = max(1, limit/4)
			continue
		}
		if err != nil {
			if offset > 0 && fault.Is(err, fault.Invalid) { // the list ends before this page now
				changed = "it became shorter"
			}
			return nil, changed, err
		}
		total = told
		for i, item := range items {
			key, value := keep(item)
			if i == 0 && sent > 0 && limit > 1 && key != last {
				changed = "its order changed"
			}
			last = key
			if at, there := places[key]; there {
				kept[at] = value
				continue
			}
			places[key] = len(kept)
			kept = append(kept, value)
		}
		if len(items) == 0 && sent > 0 && limit > 1 {
			changed = "it became shorter"
		}
		if len(items) < limit {
			break
		}
		if sent += len(items); sent > l.most {
			return nil, "", fault.New(fault.TooLarge, "%s: the old master's list has no end: it has sent %d records", what, sent)
		}
		if offset += len(items); limit > 1 {
			offset--
		}
	}
	if len(kept) < total && changed == "" {
		changed = fmt.Sprintf("%d records of %d came", len(kept), total)
	}
	return kept, changed, nil
}

// absent reports whether the old master does not have a part of the API, or does not show it: then there is nothing of it to import.
func absent(err error) bool {
	return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unimplemented) || fault.Is(err, fault.Forbidden)
}

// gone reports whether an object is not there any more, which is another answer than that the old master lacks a part of the API.
func gone[Resp any](ctx context.Context, c *client.Client, e v1.Endpoint[v1.None, Resp], id int) bool {
	_, err := client.Call(ctx, c, e, id)
	return fault.Is(err, fault.NotFound)
}

package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// Page selects a part of a list. The zero Page is the whole list, in pages of the master's
// default size.
type Page struct {
	Limit  int  // records per page; 0: the master's default
	Offset int  // records to skip first
	Single bool // only one page
}

// set adds the page to a query.
func (p Page) set(q url.Values) {
	if p.Limit != 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	q.Set("offset", strconv.Itoa(p.Offset))
}

// smallPage is the size of the pages that follow an answer that was too large, if the page had no size.
const smallPage = 100

// pages requests page after page and yields the records of each. If an answer would be too large, because records
// are long, it asks for fewer at once.
func pages[T any](ctx context.Context, p Page, fetch func(context.Context, Page) ([]T, v1.Pagination, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			items, got, err := fetch(ctx, p)
			if fault.Is(err, fault.TooLarge) && !p.Single && p.Limit != 1 {
				if p.Limit > 0 {
					p.Limit = max(1, p.Limit/4)
				} else {
					p.Limit = smallPage
				}
				continue
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if p.Single || got.EndIndex >= got.Total || got.EndIndex <= p.Offset {
				return
			}
			p.Offset = got.EndIndex
		}
	}
}

// A paged response has one page of a list.
type paged[T any] interface {
	Records() ([]T, v1.Pagination)
}

// Each calls an endpoint whose response is a list, page after page, until the caller leaves the loop. request
// may be nil; params are the variable parts of the path.
func Each[Req any, Resp paged[T], T any](ctx context.Context, c *Client, e v1.Endpoint[Req, Resp], page Page, request *Req, params ...any) iter.Seq2[T, error] {
	return pages(ctx, page, func(ctx context.Context, p Page) ([]T, v1.Pagination, error) {
		k := callOf(e, params...)
		k.query = queryOf(request)
		p.set(k.query)
		var out Resp
		err := c.do(ctx, k, &out)
		records, at := out.Records()
		return records, at, err
	})
}

// List returns what Each yields.
func List[Req any, Resp paged[T], T any](ctx context.Context, c *Client, e v1.Endpoint[Req, Resp], page Page, request *Req, params ...any) ([]T, error) {
	return Collect(Each(ctx, c, e, page, request, params...))
}

// firstOf returns the first record for which is returns true; none is the error if there is none.
func firstOf[T any](seq iter.Seq2[T, error], is func(T) bool, none error) (*T, error) {
	for item, err := range seq {
		if err != nil {
			return nil, err
		}
		if is(item) {
			return &item, nil
		}
	}
	return nil, none
}

// Collect collects a sequence into a list.
func Collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for item, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

package rest

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// An Object is a kind of thing that paths name: an experiment, a trial, a node. Before the
// handler runs, the engine loads the thing and asks auth whether the caller may use
// it. The handler receives the loaded thing, so no handler can forget to ask.
type Object[T any] struct {
	// Load finds the thing that the path names, or returns NotFound.
	Load func(ctx context.Context, c *Call) (T, error)
	// Of is the thing as auth knows it.
	Of func(T) auth.Object
	// Refusal is the error for a caller who sees the thing and may not do verb; nil for auth's own
	// error.
	Refusal func(c *Call, verb auth.Verb, it T) error
	// Again prepares to find the thing once more, when the call is over and its answer is still open: whether the caller may use it can depend
	// on the workspace to which it was moved. nil: that does not change.
	Again func(c *Call) func(ctx context.Context) (T, error)
	// Large: it has texts of any length that users have written, so it is not kept while a body arrives.
	Large bool
}

// Allow fails unless the caller may do verb with the thing.
func (o Object[T]) Allow(c *Call, verb auth.Verb, it T) error {
	err := c.May(verb, o.Of(it))
	if fault.Is(err, fault.Forbidden) && o.Refusal != nil && auth.Sees(c.who, o.Of(it)) {
		err = o.Refusal(c, verb, it)
	}
	return err
}

// On makes an object that the path names by a number.
func On[T any](param string, find func(ctx context.Context, id int) (T, error), of func(T) auth.Object) Object[T] {
	return Object[T]{Of: of, Large: true, Load: func(ctx context.Context, c *Call) (it T, err error) {
		id, err := c.ID(param)
		if err != nil {
			return it, err
		}
		return find(ctx, id)
	}, Again: func(c *Call) func(context.Context) (T, error) {
		id, _ := c.ID(param) // Load has found it
		return func(ctx context.Context) (T, error) { return find(ctx, id) }
	}}
}

// recheck adds the check whether the caller may still use the thing, as it is then. One that does not exist any more is no reason
// to end an answer.
func (o Object[T]) recheck(c *Call) {
	if o.Again == nil {
		return
	}
	find, verb := o.Again(c), c.route.Verb
	c.Recheck(func(ctx context.Context, who auth.Who) error {
		it, err := find(ctx)
		if err != nil {
			return nil //nolint:nilerr // see above; and while the database does not answer, no answer ends
		}
		return auth.May(who, verb, o.Of(it))
	})
}

// allThings is the id with which some clients of Determined name all things of a kind, in place of 0.
const allThings = "-1"

// OrAll accepts the numbers 0 and -1 for all things of a kind. Every user may name them, and sees
// the things in their scope.
func OrAll[T any](o Object[T], id func(T) int) Object[T] {
	return Object[T]{
		Load: func(ctx context.Context, c *Call) (it T, err error) {
			if n, err := c.ID("id"); err == nil && n == 0 || c.Param("id") == allThings {
				return it, nil
			}
			return o.Load(ctx, c)
		},
		Of: func(it T) auth.Object {
			if id(it) == 0 {
				return auth.Object{Kind: v1.KindCluster}
			}
			return o.Of(it)
		},
	}
}

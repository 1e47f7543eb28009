package audit

import (
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

// This file records what users report: metrics, logs, states of trials. The programs of unmanaged experiments report as their
// user, many times a second, so an entry for each report would slow them. The first report in an hour with the same call, object,
// credential and address that succeeds has an entry, which says that this user wrote there; those that follow cost nothing.

// keepKey is the key of a function that remembers a report which has succeeded.
type keepKey struct{}

// Report records that a user reports about an object, before the handler stores the report. It fails if the trail does
// not accept the entry.
func (t *Trail) Report(c *rest.Call, is auth.Object, refusal error) error {
	e := entryFor(c, c.Who()).in(is)
	if e.Object == "" { // the body names it
		e.Kind = string(is.Kind)
		_, e.Object, _ = strings.Cut(is.Name, " ") // without its noun
	}
	if refusal != nil {
		addResult(c, e, refusal)
		return t.Add(e)
	}
	keep, first := t.placeReport(e)
	if !first || Of(c) != nil { // no report names two objects
		return nil
	}
	ctx, cancel := c.Within()
	defer cancel()
	id, err := Begin(ctx, t.db, *e)
	if err != nil {
		return err
	}
	e.ID = id
	c.Put(entryKey{}, e)
	c.Put(keepKey{}, keep)
	return nil
}

// placeReport reports whether a report is the first of its kind, and gets an entry; keep then remembers it. If the caller has used
// up its entries, one entry for the call stands for all further objects.
func (t *Trail) placeReport(e *Entry) (keep func(), first bool) {
	now := time.Now()
	key := callIn(e)
	if _, fresh, _ := t.reports.Get(key, now); fresh {
		return nil, false
	}
	if caller := t.caller(e); !t.single.Take(kindOfCalls{caller: caller, reports: true}, now) {
		e.Object, e.Credential, e.WorkspaceID = "", "several", nil
		key = call{address: caller, method: e.Method, path: e.Path}
		if _, fresh, _ := t.reports.Get(key, now); fresh {
			return nil, false
		}
	}
	return func() { t.reports.Put(key, struct{}{}, now) }, true
}

// reported stores the result of a call that had no entry when it began: a report of a user, or a call of a task. The
// trail does not record the changes of tasks, which change only their own objects, but it records a change that the
// master forbids.
func (t *Trail) reported(c *rest.Call, who auth.Who, err error) error {
	if e := Of(c); e != nil {
		addResult(c, e, err)
		t.end(e)
		if keep, ok := c.Value(keepKey{}).(func()); ok && *e.Status < 400 {
			keep()
		}
		return err
	}
	if who.IsTask() && fault.Is(err, fault.Forbidden) {
		return t.Rejected(c, who, err)
	}
	return err
}

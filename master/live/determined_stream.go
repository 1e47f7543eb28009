package live

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/live/updates"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	// maxSubscription is the maximum size of a client's message, which lists the ids that the client knows.
	maxSubscription = 512 << 10
	// followInterval is the minimum time between two comparisons for one client.
	followInterval = 250 * time.Millisecond
	// followSlowly is the time after which a client is compared without a wake-up: a wake-up may be
	// lost with its connection.
	followSlowly = 15 * time.Second
	// followWrite limits the writing of one message.
	followWrite = 15 * time.Second
	// followChunk is how many rows are read at once, and followFirst how many at first, while their size is
	// not known.
	followChunk = 100
	followFirst = 8
)

// follow answers GET /stream: a WebSocket over which the client follows projects, models
// and their versions.
func (d Deps) follow(_ context.Context, c *rest.Call) error {
	if !strings.EqualFold(c.Get("Upgrade"), "websocket") {
		c.Set("Upgrade", "websocket")
		return fault.New(fault.Invalid, "GET /stream opens a WebSocket; send the header Upgrade: websocket")
	}
	leave, err := d.Followers.Join(c.Who().Username)
	if err != nil {
		return err
	}
	ctx, followed := c.Follow()
	left := func() { followed(); leave() }
	owner := c.Owner()
	f := &follower{db: d.DB, inTurn: func(ctx context.Context, fn func() error) error { return d.InTurn(ctx, owner, fn) }, projects: auth.ScopeOf(c.Who(), v1.View, v1.KindProject), models: auth.ScopeOf(c.Who(), v1.View, v1.KindModel)}
	err = c.Hijack(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer left()
		up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }} // guard has checked the origin
		ws, err := up.Upgrade(w, r, nil)
		if err != nil { // the upgrader has answered with the error
			return
		}
		defer ws.Close()
		wake, stop := d.Bus.Subscribe(TopicUpdates)
		defer stop()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(r.Context(), func() { cancel(nil) })()
		f.ws = ws
		why := f.run(ctx, wake, subscriptions(ctx, ws, cancel))
		if ctx.Err() != nil { // a query that was cut off does not know the reason
			why = context.Cause(ctx)
		}
		f.end(why)
	}))
	if err != nil { // the handler was not called
		left()
	}
	return err
}

// subscriptions reads the messages of a client until ctx or the connection ends.
func subscriptions(ctx context.Context, ws *websocket.Conn, end context.CancelCauseFunc) <-chan updates.Request {
	requests := make(chan updates.Request)
	ws.SetReadLimit(maxSubscription)
	go func() {
		for {
			_, text, err := ws.ReadMessage()
			if err != nil {
				end(err)
				return
			}
			r, err := updates.Parse(text)
			if err != nil {
				end(err)
				return
			}
			select {
			case requests <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	return requests
}

// A follower is one client of /stream.
type follower struct {
	db               *database.DB
	ws               *websocket.Conn
	inTurn           func(ctx context.Context, fn func() error) error // calls fn with a share of those for streams
	projects, models auth.Scope                                       // where the client may view them
	on               updates.Subscribe
	told             struct{ projects, models, versions []updates.Row }
}

// run sends what subscriptions select until ctx ends. It pauses after each comparison, also after
// those that the client causes by a new subscription.
func (f *follower) run(ctx context.Context, wake <-chan struct{}, requests <-chan updates.Request) error {
	tick := time.NewTicker(followSlowly)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case r := <-requests:
			err = f.subscribe(ctx, r)
		case <-tick.C:
			if err = f.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(followWrite)); err == nil {
				err = f.compare(ctx)
			}
		case <-wake:
			err = f.compare(ctx)
		}
		if err != nil {
			return err
		}
		if err := sleep.For(ctx, followInterval); err != nil {
			return context.Cause(ctx)
		}
	}
}

// subscribe replaces the subscription, and sends what the client does not know.
func (f *follower) subscribe(ctx context.Context, r updates.Request) error {
	var err error
	for _, kind := range []struct {
		told  *[]updates.Row
		known string
		on    *updates.Filter
	}{
		{&f.told.projects, r.Known.Projects, r.Subscribe.Projects}, {&f.told.models, r.Known.Models, r.Subscribe.Models}, {&f.told.versions, r.Known.Versions, r.Subscribe.Versions},
	} {
		if kind.on == nil {
			*kind.told = nil
		} else if *kind.told, err = updates.Told(kind.known, kind.on.Since); err != nil {
			return err
		}
	}
	f.on = r.Subscribe
	if err = f.send(updates.Sync{SyncID: r.SyncID}); err == nil {
		if err = f.compare(ctx); err == nil {
			err = f.send(updates.Sync{SyncID: r.SyncID, Complete: true})
		}
	}
	return err
}

// compare sends what has changed since the client was last told.
func (f *follower) compare(ctx context.Context) error {
	if err := changes(ctx, f, f.on.Projects, &f.told.projects, f.projects, ProjectUpdates, ProjectsByID,
		func(gone string) updates.Message { return updates.Message{ProjectsDeleted: gone} },
		func(p *updates.Project) updates.Message { return updates.Message{Project: p} }); err != nil {
		return err
	}
	if err := changes(ctx, f, f.on.Models, &f.told.models, f.models, ModelUpdates, ModelsByID,
		func(gone string) updates.Message { return updates.Message{ModelsDeleted: gone} },
		func(m *updates.Model) updates.Message { return updates.Message{Model: m} }); err != nil {
		return err
	}
	return changes(ctx, f, f.on.Versions, &f.told.versions, f.models, VersionUpdates, VersionsByID,
		func(gone string) updates.Message { return updates.Message{VersionsDeleted: gone} },
		func(v *updates.Version) updates.Message { return updates.Message{Version: v} })
}

// changes compares one kind of object, and sends the deleted ids before the changed rows.
func changes[T any](ctx context.Context, f *follower, on *updates.Filter, told *[]updates.Row, scope auth.Scope,
	list func(context.Context, *database.DB, auth.Scope, *updates.Filter) ([]updates.Row, error), read func(context.Context, *database.DB, auth.Scope, []int) ([]T, []int, error),
	deleted func(string) updates.Message, changed func(*T) updates.Message,
) error {
	if on == nil { // the client has not subscribed to this kind, so it receives nothing of it, as in Determined
		return nil
	}
	now, err := list(ctx, f.db, scope, on)
	if err != nil {
		return err
	}
	gone, ids := updates.Diff(*told, now)
	if len(gone) > 0 {
		if err := f.send(deleted(updates.Ranges(gone))); err != nil {
			return err
		}
	}
	for most := followFirst; len(ids) > 0; {
		n := min(len(ids), most)
		if err := f.inTurn(ctx, func() error {
			rows, rest, err := read(ctx, f.db, scope, ids[:n])
			if err != nil {
				return err
			}
			if most = min(2*most, followChunk); len(rest) > 0 {
				n -= len(rest)
				most = n
			}
			for i := range rows {
				if err := f.send(changed(&rows[i])); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		ids = ids[n:]
	}
	*told = now
	return nil
}

func (f *follower) send(message any) error {
	_ = f.ws.SetWriteDeadline(time.Now().Add(followWrite))
	return f.ws.WriteJSON(message)
}

// end closes the WebSocket, and tells the client why.
func (f *follower) end(why error) {
	code, text := websocket.CloseNormalClosure, ""
	var closed *websocket.CloseError
	switch {
	case why == nil || errors.As(why, &closed) || errors.Is(why, context.Canceled):
	case fault.Is(why, fault.Invalid):
		code, text = websocket.CloseUnsupportedData, why.Error()
	case fault.Is(why, fault.Forbidden), fault.Is(why, fault.Unauthenticated):
		code, text = websocket.ClosePolicyViolation, why.Error()
	default:
		code, text = websocket.CloseInternalServerErr, "the master cannot continue this stream; open it again"
	}
	const most = 123 - len("…") // bytes of a reason; RFC 6455
	text = fault.ClipTo(text, most)
	_ = f.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(followWrite))
}

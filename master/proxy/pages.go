package proxy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tunnel"
)

// A page is an answer of the proxy itself: HTML for browsers, and the API's error body for
// programs.
type page struct {
	status int
	code   fault.Code
	Title  string
	Text   string
	Again  int // seconds after which the page reloads; 0: never
	Link   string
	Label  string // of the link
	// A form that asks before something is done.
	Action, Proof, Button string
	leads                 string // the origin to which the form redirects
	absent                string // the id of a task that serves nothing now: programs get Determined's words
}

var pageHTML = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{{if .Again}}<meta http-equiv="refresh" content="{{.Again}}">
{{end}}<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center; }
main { max-width: 34rem; padding: 2rem; }
h1 { font-size: 1.25rem; margin: 0 0 .5rem; }
p { margin: 0 0 1rem; white-space: pre-line; }
button { font: inherit; padding: .5rem 1.5rem; animation: wait .7s step-end; }
@keyframes wait { from { visibility: hidden; } }
</style>
<main>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
{{if .Link}}<p><a href="{{.Link}}">{{.Label}}</a></p>
{{end}}{{if .Action}}<form method="post" action="{{.Action}}"><input type="hidden" name="det-open" value="{{.Proof}}"><button>{{.Button}}</button></form>
{{end}}</main>
</html>
`))

// pagePolicy is the policy of pages: they contain no content of a task, and may load nothing.
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// formPolicy is the policy of a page with a form. No other page may show it in a frame and cover
// the button; the button appears after a moment, so that a click for another page does not hit
// it. The policy names the origin to which the form redirects, because browsers also apply it
// to redirects.
func formPolicy(leads string) string {
	return "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' " + leads
}

// show writes a page.
func show(w http.ResponseWriter, r *http.Request, p page) {
	if r.Body != nil {
		_ = r.Body.Close() // the API's listener sends no answer before the body is read or closed
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Add("Vary", "Accept")
	if p.Again > 0 {
		h.Set("Retry-After", strconv.Itoa(p.Again))
	}
	if tunnel.Asked(r.Header) == "" && strings.Contains(r.Header.Get("Accept"), "text/html") {
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", pagePolicy)
		if p.Action != "" {
			h.Set("Content-Security-Policy", formPolicy(p.leads))
			h.Set("X-Frame-Options", "DENY")
			h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers would send the form without an Origin
		}
		w.WriteHeader(p.status)
		if r.Method != http.MethodHead {
			_ = pageHTML.Execute(w, p) // fails if the caller has disconnected
		}
		return
	}
	message := strings.TrimSuffix(p.Title, ".") + ": " + p.Text
	if p.absent != "" {
		message = "service not found: " + p.absent + ": " + message
	}
	body, err := json.Marshal(map[string]any{
		"error":   map[string]any{"code": grpcCodes[p.code], "reason": p.code.String(), "error": message},
		"message": message, "link": p.Link,
	})
	if err != nil {
		http.Error(w, message, p.status)
		return
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

var grpcCodes = map[fault.Code]int{
	fault.Internal: 13, fault.Invalid: 3, fault.Unauthenticated: 16, fault.Forbidden: 7, fault.NotFound: 5,
	fault.Conflict: 6, fault.TooLarge: 8, fault.TooMany: 8, fault.Unavailable: 14, fault.Unimplemented: 12,
}

// The pages.

func pageNoPath() page {
	return page{status: http.StatusNotFound, code: fault.NotFound, Title: "There is nothing here",
		Text: "Tasks are found under /proxy/<task id>/ and /proxy/<task id>:<port>/, and only there."}
}

func pageBadPath(why error) page {
	return page{status: http.StatusBadRequest, code: fault.Invalid, Title: "This address is refused", Text: why.Error() + "."}
}

func pageUnknown(id string) page {
	return page{status: http.StatusNotFound, code: fault.NotFound, absent: id, Title: "There is no task " + id,
		Text: "Its address may be mistyped, or it was removed. det notebook list, det tensorboard list and det shell list show what there is."}
}

// pageSignIn is for a browser without a session at the API's origin: it leads to the master's
// sign-in, and back.
func pageSignIn(at service) page {
	return page{status: http.StatusUnauthorized, code: fault.Unauthenticated, Title: "Sign in to open this task",
		Text: "It is open to its owner and to admins. Programs show a token: Authorization: Bearer <token>.",
		Link: "/login?next=" + url.QueryEscape(at.base()), Label: "Sign in"}
}

// pageConfirm is for a request that the user or another page may have caused.
func pageConfirm(t Task, action, proof, leads string) page {
	return page{status: http.StatusForbidden, code: fault.Forbidden, Title: "Open this " + t.word() + "?",
		Text:   fmt.Sprintf("%s, of %s.\nOpen it only if you meant to: another page may have sent you here. Programs show a token: Authorization: Bearer <token>.", t.Name, t.Owner),
		Action: action, Proof: proof, Button: "Open it", leads: leads}
}

// pageNoCookie is for a browser at the tasks' origin without a valid cookie: it was not
// redirected by the master, or its session has ended.
func pageNoCookie(master string, at service) page {
	return page{status: http.StatusUnauthorized, code: fault.Unauthenticated, Title: "This task is opened by way of the master",
		Text: "The address alone does not open it, and what opened it before has ended with its session.",
		Link: master + at.base(), Label: "Open the task"}
}

func pageNotYours(t Task, who string) page {
	return page{status: http.StatusForbidden, code: fault.Forbidden, Title: "This " + t.word() + " is not yours",
		Text: fmt.Sprintf("It belongs to %s. Its owner and admins may open it; you are signed in as %s.", t.Owner, who)}
}

func pageOwnerGone(t Task) page {
	return page{status: http.StatusForbidden, code: fault.Forbidden, Title: "The owner of this " + t.word() + " is deactivated",
		Text: fmt.Sprintf("It belongs to %s. Only admins can still open it, with their token.", t.Owner)}
}

func pageNothing(t taskService) page {
	if t.at.port != 0 {
		return page{status: http.StatusNotFound, code: fault.NotFound, Title: fmt.Sprintf("This task has no port %d to open", t.at.port),
			Text: "Declare the port in environment.proxy_ports of the configuration, before the task starts."}
	}
	return page{status: http.StatusNotFound, code: fault.NotFound, Title: "This task has nothing to open",
		Text: "Notebooks, TensorBoards, shells and the ports in environment.proxy_ports can be opened. The output of a command or a trial is in its log: det task logs " + cmp.Or(t.Newest, t.ID)}
}

func pageShell(t Task) page {
	return page{status: http.StatusUpgradeRequired, code: fault.Invalid, Title: "This is a shell",
		Text: "It is opened by ssh, from a terminal: det shell open " + t.ID}
}

// pageStream is for a port that carries bytes and no HTTP.
func pageStream(t taskService) page {
	return page{status: http.StatusUpgradeRequired, code: fault.Invalid, Title: "This is a port with proxy_tcp",
		Text: fmt.Sprintf("It carries bytes and no pages. Open it from a terminal: det task tunnel %s %d", t.ID, t.at.port)}
}

func pageOver(t Task) page {
	text := "What it printed is in its log: det task logs " + cmp.Or(t.Newest, t.ID)
	if t.ExitStatus != "" {
		text = "It ended: " + strings.TrimSuffix(t.ExitStatus, ".") + ".\n" + text
	}
	return page{status: http.StatusNotFound, code: fault.NotFound, absent: t.ID, Title: "This " + t.word() + " is over", Text: text}
}

// pageStarting has the status by which Determined's scripts decide whether to ask again: 404 before the task runs, and 502 while nothing
// in it listens yet.
func pageStarting(t taskService) page {
	p := page{status: http.StatusNotFound, code: fault.Unavailable, absent: t.ID, Again: 2, Title: "This " + t.word() + " is starting"}
	if t.State == "RUNNING" || t.State == "TERMINATING" {
		p.status, p.absent = http.StatusBadGateway, ""
	}
	switch t.State {
	case "QUEUED":
		p.Title, p.Text = "This "+t.word()+" is queued", t.Waiting
	case "PULLING":
		p.Text = "Its image is being fetched."
	case "TERMINATING":
		p.Title, p.Text = "This "+t.word()+" is being ended", "Its program was asked to exit."
	default:
		p.Text = "Its program has not answered yet."
		if t.at.port != 0 {
			p.Text = fmt.Sprintf("No program of the task listens on port %d of its loopback interface yet.", t.at.port)
		}
	}
	p.Text = cmp.Or(p.Text, "Nothing is known yet about when it begins.")
	p.Text += "\nThis page looks again every few seconds."
	return p
}

func pageSilent(t Task) page {
	return page{status: http.StatusBadGateway, code: fault.Unavailable, Again: 5, Title: "This " + t.word() + " does not answer",
		Text: "It runs, but nothing answers where it should be: its node or the network may be down, or its program hangs. " +
			"What it printed is in its log: det task logs " + cmp.Or(t.Newest, t.ID)}
}

func pageTicket(master string, at service) page {
	return page{status: http.StatusForbidden, code: fault.Forbidden, Title: "This link has been used, or is too old",
		Text: "A link with a ticket is good once and for a minute.", Link: master + at.base(), Label: "Open the task again"}
}

func pageForeign() page {
	return page{status: http.StatusForbidden, code: fault.Forbidden, Title: "Requests from other pages are refused",
		Text: "A request with a browser's cookie must come from the task's own pages."}
}

func pageNoOrigin(t Task) page {
	return page{status: http.StatusNotImplemented, code: fault.Unavailable, Title: "This master serves no pages of tasks",
		Text: "Pages of tasks are served from an origin of their own, and none is configured: set tasks_listen and tasks_url, or tasks_domain. " +
			"Programs with a token can still connect. The task is " + t.ID + "."}
}

func pageBrowser(link string) page {
	return page{status: http.StatusForbidden, code: fault.Forbidden, Title: "Pages of tasks are on another origin",
		Text: "A signed-in browser is sent there when it opens the task; here, only programs with a token may connect.", Link: link, Label: "Open the task"}
}

// pageOf returns the page for an error.
func pageOf(err error) page {
	p := page{code: fault.CodeOf(err), Title: "The request failed", Text: err.Error()}
	switch p.code {
	case fault.Unauthenticated:
		p.status = http.StatusUnauthorized
	case fault.Forbidden:
		p.status = http.StatusForbidden
	case fault.NotFound:
		p.status = http.StatusNotFound
	case fault.TooMany:
		p.status, p.Again = http.StatusTooManyRequests, 5
	case fault.Unavailable:
		p.status, p.Again = http.StatusServiceUnavailable, 2
	case fault.Invalid:
		p.status = http.StatusBadRequest
	default:
		p.status, p.code, p.Text = http.StatusInternalServerError, fault.Internal, "Internal error; the master's log has the details"
	}
	return p
}

package api

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// missing returns what the policy of a route lacks, or "".
func missing(r *rest.Route) string {
	inNoWorkspace := slices.Contains([]v1.Kind{v1.KindAgent, v1.KindCluster, v1.KindMasterLog, v1.KindPool, v1.KindUser}, r.Object)
	named := len(r.Names()) > 0 && r.Verb != v1.Create // what is created is not there yet
	switch {
	case r.Access == v1.Public:
		if r.Object != "" || r.Verb != "" || r.Loads {
			return "anybody may call it, and it says what somebody must be allowed to do"
		}
	case r.Object == v1.KindOwn:
		if named || r.Access == v1.ByTasks || r.Access == v1.ByAdmins {
			return "it is about the caller's own session, and its path or its access says something else"
		}
	case r.Object == "" || r.Verb == "":
		return "it does not say what somebody does with which kind of object"
	case r.Access == v1.BySCIM && r.Verb == v1.Administer: // it knows only the users and groups of its own
	case r.Access == v1.ByUsers && r.Verb == v1.Administer && r.Loads: // the loaded object asks, and may refuse with another status than 403
	case (r.Access == v1.ByAdmins) != (r.Verb == v1.Administer):
		return "what admins alone may call is to administer something, and nothing else is"
	case r.Access == v1.ByTasks && r.Verb != v1.Report:
		return "what attempts alone may call is a report"
	case named && !r.Loads:
		return "its path names an object, and nobody loads it"
	case !named && r.Verb == v1.View && !r.List && r.NamedIn == v1.Path && !inNoWorkspace:
		return "it shows what no path, body or query names, and is no list that is cut to a scope"
	case !named && (r.Verb == v1.Change || r.Verb == v1.Enter || r.Verb == v1.Report) && r.NamedIn == v1.Path:
		return "it changes something, and does not say where that is named"
	}
	return ""
}

func TestEveryRouteHasAPolicy(t *testing.T) {
	r := newRig(t)
	for _, route := range r.api.router.Routes() {
		if what := missing(route); what != "" {
			t.Errorf("%s %s: %s", route.Method, route.Path, what)
		}
	}
}

// TestPolicyIsMissed: the messages of TestEveryRouteHasAPolicy for incomplete routes.
func TestPolicyIsMissed(t *testing.T) {
	good := rest.Route{Line: v1.GetExperiment.Line(), Loads: true}
	if what := missing(&good); what != "" {
		t.Error(what)
	}
	for name, change := range map[string]func(*rest.Route){
		"no object":        func(r *rest.Route) { r.Object = "" },
		"no verb":          func(r *rest.Route) { r.Verb = "" },
		"no loader":        func(r *rest.Route) { r.Loads = false },
		"a list of all":    func(r *rest.Route) { r.Path, r.Loads = "/experiments", false },
		"changes anything": func(r *rest.Route) { r.Path, r.Loads, r.Verb = "/experiments", false, v1.Change },
		"open to anybody":  func(r *rest.Route) { r.Access = v1.Public },
		"by admins":        func(r *rest.Route) { r.Access = v1.ByAdmins },
		"by tasks":         func(r *rest.Route) { r.Access = v1.ByTasks },
		"own":              func(r *rest.Route) { r.Object = v1.KindOwn },
	} {
		bad := good
		change(&bad)
		if missing(&bad) == "" {
			t.Errorf("%s: missing() does not report the missing policy", name)
		}
	}
}

// TestEveryEndpointIsServed: the table has each endpoint that v1 declares once, and no
// other.
func TestEveryEndpointIsServed(t *testing.T) {
	served := map[string]int{}
	for _, route := range newRig(t).api.router.Routes() {
		served[route.Method+" "+route.Path]++
	}
	declared := endpointsOfV1(t)
	for name, where := range declared {
		if served[where] != 1 {
			t.Errorf("v1.%s, which is %s, is served %d times", name, where, served[where])
		}
	}
	if len(declared) != len(served) {
		t.Errorf("v1 declares %d endpoints; %d are served", len(declared), len(served))
	}
}

// endpointsOfV1 reads the source of v1: method and path of each endpoint by its name.
func endpointsOfV1(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../v1/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, v := range spec.Values {
				lit, ok := v.(*ast.CompositeLit)
				if !ok {
					continue
				}
				generic, ok := lit.Type.(*ast.IndexListExpr)
				if ok && fmt.Sprint(generic.X) == "Endpoint" {
					found[spec.Names[i].Name] = stringField(lit, "Method") + " " + stringField(lit, "Path")
				}
			}
			return true
		})
	}
	return found
}

func stringField(lit *ast.CompositeLit, name string) string {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok || fmt.Sprint(kv.Key) != name {
			continue
		}
		if b, ok := kv.Value.(*ast.BasicLit); ok {
			s, _ := strconv.Unquote(b.Value)
			return s
		}
	}
	return ""
}

package v1

// An AbsentLine is a call of Determined's that has no meaning here. The master answers it with 501 and the reason, so
// that a client's user reads a sentence in place of "not found".
type AbsentLine struct {
	Method string
	Path   string // as a Line has it
	Why    string
}

const (
	noNamespaces = "Detent runs tasks on Nomad and binds no workspaces to namespaces of Kubernetes; a pool's job names Nomad's namespace"
	noQuotas     = "Detent runs tasks on Nomad and sets no quotas in Kubernetes"
)

// Absent lists the calls of Determined's that have no meaning here.
var Absent = []AbsentLine{
	{"GET", "/k8s-resource-managers", "Detent runs tasks on Nomad and has no resource managers of Kubernetes; GET /api/v1/resource-pools lists the pools"},
	{"POST", "/namespace-bindings/bulk-auto-create", noNamespaces},
	{"GET", "/namespace-bindings/workspace-ids-with-default-bindings", noNamespaces},
	{"POST", "/workspaces/:id/namespace-bindings", noNamespaces},
	{"DELETE", "/workspaces/:id/namespace-bindings", noNamespaces},
	{"GET", "/workspaces/:id/list-namespace-bindings", noNamespaces},
	{"GET", "/workspaces/:id/get-k8s-resource-quotas", noQuotas},
	{"POST", "/workspaces/:id/set-resource-quota", noQuotas},
}

// Pattern is the whole path.
func (l AbsentLine) Pattern() string { return Line{Path: l.Path}.Pattern() }

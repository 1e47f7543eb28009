package server

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/proxy/headers"
	"github.com/detent-ml/detent/master/task"
)

// ingressTraefik is the one kind of ingress that can ask the master and add the answer's headers
// to a request.
const ingressTraefik = "traefik"

// IngressConfig describes the ingress in front of tasks.
type IngressConfig struct {
	// `traefik`: the services of tasks have tags for Traefik. Requires `tasks_domain`. Without
	// this key all requests to tasks pass through a master.
	Kind string `yaml:"kind"`
	// Address of a master as Traefik reaches it. Traefik asks there about each request to a
	// task. By default `public_url`.
	AuthURL string `yaml:"auth_url"`
	// Entrypoints of Traefik for the hosts of tasks. By default Traefik's default ones.
	Entrypoints []string `yaml:"entrypoints"`
	// Certificate resolver of Traefik for the hosts of tasks. By default Traefik uses a
	// certificate that it has, such as one for `*.<tasks_domain>`.
	CertResolver string `yaml:"certificate_resolver"`
	// Name of Traefik's servers transport for connections to tasks, which must accept
	// certificates without a known issuer. The default is `det-tasks@file`.
	Transport string `yaml:"transport"`
}

func (in *IngressConfig) fill(publicURL string) {
	in.AuthURL = strings.TrimRight(cmp.Or(in.AuthURL, publicURL), "/")
	in.Transport = cmp.Or(in.Transport, "det-tasks@file")
}

// Words that are safe in tags, in which commas, backquotes and ${…} have a meaning.
var (
	traefikName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*(@[a-z]+)?$`)
	traefikDomain = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]+)?$`)
	traefikURL    = regexp.MustCompile(`^[A-Za-z0-9.:/_\[\]-]+$`)
)

func (c *Config) checkIngress(k *checker) {
	in := &c.Ingress
	switch in.Kind {
	case "":
		return
	case ingressTraefik:
	case "fabio":
		k.fail("ingress.kind", "Fabio cannot add headers of the master's answer to a request, so it must forward requests for tasks to a master; leave this key out (docs/operate/ingress.md)")
		return
	default:
		k.fail("ingress.kind", "expected %s, or nothing for no ingress in front of tasks; found %q", ingressTraefik, in.Kind)
		return
	}
	if !traefikDomain.MatchString(c.TasksDomain) {
		k.fail("ingress", "requires tasks_domain, the domain in which each task has a host name, such as tasks.example.com; found %q", c.TasksDomain)
	}
	k.url("ingress.auth_url", in.AuthURL)
	if u, err := url.Parse(in.AuthURL); !traefikURL.MatchString(in.AuthURL) || err != nil || u.Path != "" {
		k.fail("ingress.auth_url", "expected the address of a master, such as http://det-master.service.consul:8080, found %q", in.AuthURL)
	}
	for _, name := range in.Entrypoints {
		if !traefikName.MatchString(name) {
			k.fail("ingress.entrypoints", "expected names of Traefik's entrypoints, such as websecure, found %q", name)
		}
	}
	if in.CertResolver != "" && !traefikName.MatchString(in.CertResolver) {
		k.fail("ingress.certificate_resolver", "expected the name of a certificate resolver of Traefik, found %q", in.CertResolver)
	}
	if !traefikName.MatchString(in.Transport) {
		k.fail("ingress.transport", "expected the name of a servers transport of Traefik, such as det-tasks@file, found %q", in.Transport)
	}
}

// site is the ingress as tasks need it; nil for none.
func (in *IngressConfig) site(origins proxy.Origins) *task.Ingress {
	if in.Kind == "" {
		return nil
	}
	return &task.Ingress{Host: origins.Host, Ingress: jobspecs.Ingress{
		AuthURL: in.AuthURL + proxy.IngressPath, Headers: headers.Names(), Entrypoints: in.Entrypoints,
		TLS: strings.HasPrefix(origins.Master, "https://"), CertResolver: in.CertResolver, Transport: in.Transport}}
}

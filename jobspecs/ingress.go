package jobspecs

import (
	"fmt"
	"regexp"
	"strings"
)

// An Ingress is how Traefik reaches the first member of a task: with the tags of its service.
// Every word of the tags comes from the operators' configuration or from the task's id, and none
// from its owner.
type Ingress struct {
	Host         string   // the name of the task's host
	AuthURL      string   // where Traefik asks the master about each request
	Headers      []string // the headers of a request that the master's answer sets or removes
	Entrypoints  []string // of Traefik; empty for its default ones
	TLS          bool     // only requests by HTTPS
	CertResolver string   // of Traefik, for the host's certificate; "": a certificate that Traefik has
	Transport    string   // of Traefik, for connections to tasks
}

// hostPattern is what a host's name must look like in a rule of Traefik.
var hostPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

// tags are the tags of a service for Traefik. The name of router, service and middleware is that
// of the attempt's job, so that two attempts of one task do not define the same router. A task
// whose id is no host name gets none: the masters serve it.
func (in *Ingress) tags(name string) []string {
	if len(in.Host) > 253 || !hostPattern.MatchString(in.Host) {
		return nil
	}
	router, service, middleware := "traefik.http.routers."+name, "traefik.http.services."+name+".loadbalancer", "traefik.http.middlewares."+name+".forwardauth"
	tags := []string{
		"traefik.enable=true",
		fmt.Sprintf("%s.rule=Host(`%s`)", router, in.Host),
		router + ".service=" + name,
		router + ".middlewares=" + name,
		service + ".server.scheme=https",
		service + ".serverstransport=" + in.Transport,
		middleware + ".address=" + in.AuthURL,
		middleware + ".authresponseheaders=" + strings.Join(in.Headers, ","),
	}
	if len(in.Entrypoints) > 0 {
		tags = append(tags, router+".entrypoints="+strings.Join(in.Entrypoints, ","))
	}
	if in.TLS {
		tags = append(tags, router+".tls=true")
	}
	if in.CertResolver != "" {
		tags = append(tags, router+".tls.certresolver="+in.CertResolver)
	}
	return tags
}

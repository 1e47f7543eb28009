package jobspecs

import "strings"

// dockerHub is the registry of images whose names have none.
const dockerHub = "docker.io"

// InRegistry reports whether a node pulls an image from that server: a host, with its port if that is not 443, or an address such as
// https://registry.example/v2/. Drivers send credentials to the registry that the image names, whatever server they are for.
func InRegistry(image, server string) bool { return imageRegistry(image) == registryHost(server) }

// imageRegistry returns the registry in an image's name, as Docker reads it: the part before the first slash, if it looks like a host.
func imageRegistry(image string) string {
	host, _, found := strings.Cut(strings.TrimPrefix(image, "docker://"), "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" && strings.ToLower(host) == host {
		return dockerHub
	}
	return registryHost(host)
}

func registryHost(server string) string {
	if _, rest, found := strings.Cut(server, "://"); found {
		server = rest
	}
	host, _, _ := strings.Cut(server, "/")
	host = strings.TrimSuffix(strings.ToLower(host), ":443")
	if host == "index.docker.io" || host == "registry-1.docker.io" {
		return dockerHub
	}
	return host
}

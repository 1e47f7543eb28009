package lifecycle

import "strings"

// pullFailure is how Nomad's docker driver begins to say that it could not fetch
// an image.
const pullFailure = "Failed to pull "

// finalWords are what registries and Docker answer where another attempt, on
// whatever node, would be answered alike: there is no such image, it is not for
// these credentials, or its name is none. A registry that does not answer, or not
// now, is not among them.
func finalWords() []string {
	return []string{
		"manifest unknown", "manifest invalid", "name unknown", "repository does not exist", "not found: manifest", "no matching manifest",
		"pull access denied", "unauthorized", "authentication required", "no basic auth credentials", "denied: ", "incorrect username or password",
		"invalid reference format", "repository name must be lowercase",
	}
}

// hopelessImage tells whether Nomad's last words about a member say that its image
// cannot be had, today or tomorrow.
func hopelessImage(detail string) bool {
	_, why, found := strings.Cut(detail, pullFailure)
	if !found {
		return strings.Contains(detail, "invalid reference format")
	}
	why = strings.ToLower(why)
	for _, words := range finalWords() {
		if strings.Contains(why, words) {
			return true
		}
	}
	// "manifest for busybox:nonesuch not found: …": not the name of a host.
	return strings.Contains(why, "manifest for ") && strings.Contains(why, " not found")
}

package lifecycle

import "strings"

// pullFailure is the beginning of the docker driver's error about an image that it could not pull.
const pullFailure = "Failed to pull "

// finalWords are parts of errors of registries and Docker that every node would get again: the
// image does not exist, the credentials may not pull it, or its name is invalid. Errors about
// a registry that does not answer are not among them.
func finalWords() []string {
	return []string{
		"manifest unknown", "manifest invalid", "name unknown", "repository does not exist", "not found: manifest", "no matching manifest",
		"pull access denied", "unauthorized", "authentication required", "no basic auth credentials", "denied: ", "incorrect username or password",
		"invalid reference format", "repository name must be lowercase",
	}
}

// hopelessImage reports whether Nomad's last event of a member shows that its image can never
// be pulled.
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
	// "manifest for busybox:nonesuch not found: …", but not "host not found".
	return strings.Contains(why, "manifest for ") && strings.Contains(why, " not found")
}

// ourImage is the default image for processors, which is in no public registry.
const ourImage = "detent-small"

// withHint adds how nodes get the default image, if Nomad's last event of a member is about it.
func withHint(detail string) string {
	if !strings.Contains(detail, ourImage) {
		return detail
	}
	return detail + "; nodes get " + ourImage + " with docker load from the file that ./justw images makes, or from a registry that environment.image names: docs/operate/images.md"
}

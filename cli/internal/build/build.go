// Package build says which det this is.
package build

// Version is det's own version, which is that of the whole project.
const Version = "0.1.0"

// API is the release of Determined whose interface det speaks.
const API = "0.38.1"

package expconf

import (
	"fmt"
	"slices"

	"github.com/detent-ml/detent/master/document"
)

// checkSources checks the list of earlier experiments from which a search learns. The master checks later whether
// they exist, and whether they have the same metric.
func (s Searcher) checkSources(k *checker, at string) {
	if len(s.LearnFrom) == 0 || len(s.LearnFrom) > maxSources {
		return
	}
	for i, id := range s.LearnFrom {
		k.when(slices.Contains(s.LearnFrom[:i], id), document.Index(at, i), fmt.Sprintf("names experiment %d twice", id), "")
	}
	switch {
	case s.Sampler != TPE:
		k.fail(at, "requires the sampler tpe, and this search draws hyperparameters at random",
			fmt.Sprintf("set sampler: tpe, which plans at most %d trials; or remove learn_from", MaxModelled))
	case s.Revision == 1:
		k.fail(at, "requires revision 2 of the search", "omit revision")
	}
}

package audit

// For tests, which are in another package because they use store, which imports accounts.
const MaxNames = maxNames

var NamesIn = namesIn

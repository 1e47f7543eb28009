package importer

// Translate is for the fuzz test.
var Translate = translate

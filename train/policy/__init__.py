"""The bundled policy, made here from nothing: corpus, tokenizer, training and export."""

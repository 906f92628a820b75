(wanted IS NULL OR {id} {=} ANY (wanted{collate}))
			AND (batch_from IS NULL OR {id} {>} batch_from{collate}) AND (batch_to IS NULL OR {id} {<=} batch_to{collate})

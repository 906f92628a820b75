{head}
{start}

{filters}

{lock}

{remember}

{track}

{rebuild_batch}

{rebuild}

{read}

{contains}

{distribute_filters}

{add}

{expire}

{health}

{rights}

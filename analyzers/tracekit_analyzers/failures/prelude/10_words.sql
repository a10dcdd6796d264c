-- Macros that know how failure is worded. They get short texts in lower case; the caller cuts and lowers them.

-- Title of a web page that a server or proxy sent in place of an answer, such as `502 Bad Gateway`; empty where it is none.
CREATE OR REPLACE TEMP MACRO page_of_failure(head) AS CASE WHEN starts_with(head, '<') THEN regexp_extract(head,
  '(?is)^<(?:!doctype[^>]*>\s*<)?html.{0,300}?<(?:title|h1)>\s*((?:error )?[45]\d\d\W{1,3}(?:bad|forbidden|not found|unauthori|access|service|gateway|internal|too many|request|method|gone|error|payment|conflict|client|server)[^<]{0,60})<', 1) ELSE '' END;

-- Whether the beginning of a tool's text answer says that it failed. Case counts: `KeyError:` is an exception, `keyerror` is not.
CREATE OR REPLACE TEMP MACRO opens_with_error(head) AS
  regexp_matches(head, '^\W{0,3}(?i:error|errors|an error (has )?occurred|exception|fatal|traceback \(most recent|failed to|failure|failed|unknown action|unknown tool|unknown command|permission denied|access denied|unauthorized|forbidden|http error|bad request|internal server error|service unavailable|bad gateway|gateway time-?out|too many requests|rate limit|no such (tool|function|file)|command not found|mcp error|invalid (arguments?|parameters?|input|request|url|json))\b')
  OR regexp_matches(head, '^\W{0,3}[A-Za-z_][\w.]*(Error|Exception|Timeout)\b\s*($|[:(\n])')
  OR regexp_matches(head, '(?is)^\W{0,3}(the )?(last )?(command|call|request|operation|tool|process|execution|code)\b.{0,400}\b(timed out|has been killed)')
  OR regexp_matches(head, '(?i)^\W{0,3}(tool|function|request|call|execution) [^.\n]{0,80}\b(failed|not found|does not exist|was rejected)\b')
  OR regexp_matches(head, '(?i)^\W{0,3}(an )?api key is (required|missing|invalid)|^<tool_use_error>')
  -- The same words in other languages; a word boundary knows Latin letters only.
  OR regexp_matches(head, '^\W{0,3}(?i:erreur|fehler|fout|errore|erro|error en|błąd|feil|hata)\s?[:!(]')
  OR regexp_matches(head, '^[\s\pP]{0,3}(错误|錯誤|エラー|오류|ошибка|Ошибка|خطأ)')
  OR page_of_failure(head) <> '';

-- Exit code that a text answer states in its first lines; null when it states none.
CREATE OR REPLACE TEMP MACRO stated_exit_code(head) AS
  TRY_CAST(coalesce(
    nullif(regexp_extract(head, '(?i)^\W{0,3}(?:process |command )?(?:exited with |failed with )?(?:exit|return) ?code:? ?(-?\d+)', 1), ''),
    nullif(regexp_extract(head, '(?i)^\W{0,3}process exited with code (-?\d+)', 1), ''),
    nullif(regexp_extract(head, '(?i)^\s*<(?:returncode|exit_code)>(-?\d+)<', 1), '')) AS INTEGER);

-- Whether the only message of a body, in lower case, speaks of failure.
CREATE OR REPLACE TEMP MACRO speaks_of_failure(said) AS
  regexp_matches(said, '(does not|doesn''t|did not|do not) exist|not found|forbidden|unauthori[sz]ed|not authori[sz]ed|access (is )?denied|permission denied|api key|not subscribed|disabled for your|exceeds? (the|your) |too many requests|rate limit|quota|^unknown |^invalid |^missing |is invalid|is required|must be |bad request|internal server error|unavailable|timed? ?out|^failed |^error|^could not|^cannot|^unable to|error (occurred|while)|not allowed|not supported');

-- A status number in HTTP's sense: `status 503`, `HTTP 429`, `404 Client Error`; never a bare number.
CREATE OR REPLACE TEMP MACRO says_status(said, digits) AS
  regexp_matches(said, '(status|code|http|error)\W{0,3}(code)?\W{0,12}' || digits || '\b')
  OR regexp_matches(said, '(^|\D)' || digits || ' ?:? ?(client|server|internal|bad|service|gateway|too many|not found|unauthori|forbidden|unprocessable|payment|conflict|gone)');

-- Whether a connection that stood broke, so that the request may have left: reset, closed, cut off; never refused.
CREATE OR REPLACE TEMP MACRO connection_broke(said) AS
  regexp_matches(said, 'connection (was )?(reset|aborted|closed|lost)|connection(reset|aborted)error|econn(reset|aborted)|broken ?pipe|socket hang up|remote end closed|remotedisconnected|server ?disconnected|remoteprotocolerror|(httpx|httpcore|_exceptions)\.(read|write)error|incomplete ?read|without (sending )?(any |a )?(response|reply|answer)');

-- Whether an error says that a person stopped the step.
CREATE OR REPLACE TEMP MACRO stopped_by_person(said) AS
  regexp_matches(said, '(cancelled|canceled|interrupted|aborted|stopped) by (the )?(user|person|operator|human)');

-- Whether an error is that of a cancelled step, which leaves open who cancelled it: a time limit of the caller, a sibling that
-- failed, or a person. One that speaks of time says who it was.
CREATE OR REPLACE TEMP MACRO was_cancelled(said) AS NOT regexp_matches(said, 'timed? ?-?out|timeout|deadline') AND regexp_matches(said,
  '^\W{0,3}([\w.]+\.)?(cancellederror|keyboardinterrupt|(task|operation)cancell?edexception|cancellationexception|aborterror|trio\.cancelled)(\W|$)|^context cancell?ed');

-- Whether an error of Python says that a function was called with other arguments than it takes.
CREATE OR REPLACE TEMP MACRO wrong_signature(said) AS regexp_matches(said,
  '\btypeerror\b.{0,200}(missing \d+ required (positional|keyword-only) argument|takes (from )?\d+ .{0,12}positional|takes no (keyword )?arguments|unexpected keyword argument|multiple values for (keyword )?argument)');

-- Whether an error says that a time limit ended the step.
CREATE OR REPLACE TEMP MACRO says_time_limit(said) AS coalesce(regexp_matches(lower(said), 'timed? ?-?out|timeout|deadline.?exceeded'), false);

-- Failure code for what an error text says, in lower case; null when it says nothing that decides.
-- The order is that of certainty: what the transport says comes before what the tool says about its arguments.
CREATE OR REPLACE TEMP MACRO worded_code(said) AS CASE
  WHEN regexp_matches(said, 'recursion.?limit|max(imum)? (number of |allowed )?(agent )?(steps?|turns?|iterations?|rounds?)\b|(step|turn|iteration|round)s? limit|maxturnsexceeded|graphrecursion|limitreached')
    THEN 'orchestration.limit'
  WHEN stopped_by_person(said) OR was_cancelled(said)
    THEN 'process.cancelled'
  WHEN regexp_matches(said, 'content.?filter|content.?(management )?policy|responsible_?ai|safety (system|filter|settings)|flagged as (unsafe|potentially)')
    THEN 'output.refused'
  WHEN regexp_matches(said, 'context.?(length|window|limit|size)|maximum context|prompt is too long|input is too long|too many (input )?tokens|token limit (was )?exceeded|exceeds? the (maximum|model).{0,40}tokens')
    THEN 'context.overflow'
  WHEN says_status(said, '429') OR regexp_matches(said, 'too many requests|rate.?limit|quota (exceeded|reached)|exceeded your.{0,20}quota|throttl|resource.?exhausted|ratelimit|过于频繁|频率限制|trop de requ|zu viele anfragen|demasiadas solicitudes|troppe richieste')
    THEN 'timeout.rate_limited'
  WHEN says_status(said, '50\d') OR says_status(said, '52\d') OR regexp_matches(said, 'internal server error|bad gateway|service.{0,12}unavailable|gateway.?time-?out|connection (was )?refused|connect(ion)?.?error|connect.?timeout|pool.?timeout|connection to .{1,80} timed out|econnrefused|name resolution|name or service not known|getaddrinfo|network is unreachable|host.{0,8}unreachable|temporarily unavailable|overloaded|apiconnection|(service|dienst|servi[cç][ioe]o?) .{0,20}(indisponible|nicht (verfügbar|erreichbar)|indisponível|no disponible|non disponibile)|服务不可用|连接失败|无法连接')
    OR connection_broke(said)
    THEN 'timeout.unavailable'
  WHEN regexp_matches(said, 'timed? ?-?out|timeout|deadline.?exceeded|no (answer|response|reply) (came|within|was received|from)|outcomeunknown|outcome unknown|超时|タイムアウト|délai .{0,30}(dépassé|expiré)|zeitüberschreitung|tiempo de espera|tempo esgotado|tempo scaduto|время ожидания')
    THEN 'timeout.no_answer'
  WHEN regexp_matches(said, '(unboundlocal|attribute|name|zerodivision|index|import|modulenotfound|assertion|notimplemented|syntax|indentation)error\b|(nullpointer|illegalstate|classcast|indexoutofbounds|nullreference|arithmetic|concurrentmodification)exception|segmentation fault|stack ?overflow|outofmemory|out of memory|^panic: |cannot read propert(y|ies) of (undefined|null)|is not a function')
    THEN 'tool.error'
  WHEN regexp_matches(said, '(unknown|no such|invalid|nonexistent|unrecogni[sz]ed) (tool|function|action)|(tool|function) [^ ]{1,80} (is |was )?(not found|not registered|not available|does not exist)|tool not found|function not found')
    THEN 'output.unknown_tool'
  WHEN regexp_matches(said, 'no such (endpoint|route)|(endpoint|route|api)\b.{0,80}(does not|doesn''t) exists?|(endpoint|route) not found|^method not found|no longer (exists|supported|available)|has been (removed|retired|renamed)|\b410 gone|api version|(unknown|unexpected|no such) (field|column|key|property) .{0,60}(response|answer|reply)')
    THEN 'tool.schema_changed'
  WHEN says_status(said, '401') OR says_status(said, '403') OR regexp_matches(said, 'unauthori[sz]ed|not authori[sz]ed|forbidden|permission ?(is )?(denied|error|required)|permissionerror|access (is |was )?denied|api key|authenticat|credential|not subscribed|subscription|requires? (admin|root|sudo)|operation not permitted|accès (refusé|interdit)|non autorisé|zugriff verweigert|keine berechtigung|acceso denegado|no autorizado|acesso negado|accesso negato|权限|未授权|拒绝访问|доступ запрещ')
    THEN 'tool.permission'
  WHEN regexp_matches(said, 'unterminated string|unexpected end of|end of file while parsing|eof while parsing|incomplete json')
    THEN 'parameter.truncated'
  WHEN regexp_matches(said, 'payment amount|(amount|sum|total)s? .{0,30}(do(es)? not|doesn''t) (add up|match)|wrong state|(non-|not |is already |cannot be )(pending|cancelled|delivered|closed|open|returned|exchanged|modified|completed)|cannot be used (for|to|with)|out of range|(should|must) (equal|match)|mismatch|does not belong|not (in|part of) the|conflicts? with|number of .{0,40}(should|must) be')
    THEN 'parameter.wrong_value'
  WHEN regexp_matches(said, 'do(es)? not fit (its|the) schema|extra inputs are not permitted|unexpected keyword|missing .{0,20}required|required (property|field|parameter|argument|positional)|\bis (a )?required|field required|validation ?error|invalid (argument|parameter|input|type|value|json|format|request|literal|query|url|date)|must be |expected to be |should be (an?|of type) |expected .{1,60} (but )?got|not a valid|takes \d+ positional|could not parse|is not of type|not one of|bad request|jsondecodeerror|unprocessable|amount of values|^unknown service|no such option|unrecogni[sz]ed (arguments|option)|input should be|unable to parse|参数|无效的|(paramètre|argument|champ) .{0,40}(invalide|manquant|obligatoire)|ungültige|pflichtfeld|parámetro .{0,40}(inválido|requerido)')
    OR says_status(said, '400') OR says_status(said, '422')
    THEN 'parameter.generated'
  WHEN regexp_matches(said, 'not found|no such|does not exist|doesn''t exist|no results|no (data|records?|entries|entry|match(es)?|items?|rows?|documents?) (was |were )?(found|available|returned)|cannot find|could not find|unknown (id|user|order|item|account|customer)|was not archived|no (user|order|item|record|match)|introuvable|non trouvée?|n''existe pas|nicht gefunden|existiert nicht|no encontrad|no existe|não encontrad|não existe|non trovat|未找到|不存在|找不到|見つかりません|не найден') OR says_status(said, '404')
    THEN 'tool.not_found'
  WHEN regexp_matches(said, 'refused|declined|rejected|not enough|insufficient|not available|unavailable|not eligible|cannot |can not|can''t|not allowed|has not been .{1,40} yet|\b(read|do|call|open|load|select) it first\b|\bmust first\b|policy|limit|exceeds|already|only .{1,40} (can|may)|refusée?|abgelehnt|nicht (möglich|erlaubt)|rechazad|recusad|rifiutat|拒绝|余额不足|不允许|insuffisant')
    THEN 'tool.rejected'
  END;
